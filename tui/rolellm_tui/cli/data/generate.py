"""The generators of `rolellm data`: samples and conversations from personas and a model."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rolellm_tui.cli.data.options import (
    GeneratorOptions,
    RejectionSamplingOptions,
    generate,
    generating_model,
    own_folder,
)
from rolellm_tui.cli.options import cast_with, with_option_groups
from rolellm_tui.output import complain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from langchain_core.language_models import BaseChatModel

    from rolellm_agents.datasets import Sample
    from rolellm_agents.generation.attributes import Attributes
    from rolellm_agents.generation.characters import Character
    from rolellm_agents.generation.instructions import Instruction
    from rolellm_agents.persona import Persona
    from rolellm_agents.text.language import Language

AttributesOption = Annotated[
    str | None,
    typer.Option(
        "--attributes",
        help="Draw who asks, in which mood and why: a YAML file, or “bundled”.",
        metavar="FILE",
    ),
]

_SEGMENT_SHARE = 5
"""A segment takes 1/5 of the context; the rest is for the prompt around it and the answer."""
_LONGEST_SEGMENT = 1_200


@with_option_groups
def context_instruct(
    *,
    persona: Annotated[
        list[str], typer.Option("--persona", "-p", help="Persona id, name or file. Repeatable.")
    ],
    script: Annotated[
        Path | None,
        typer.Option("--script", help="A play, screenplay, subtitles or novel with the persona."),
    ] = None,
    role: Annotated[
        str | None,
        typer.Option("--role", help="The persona's name in the script. Default: the persona's name."),
    ] = None,
    alias: Annotated[
        list[str] | None,
        typer.Option("--alias", help="Another name of the persona in the script. Repeatable."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Maximum number of questions per persona.")
    ] = None,
    questions: Annotated[
        int, typer.Option("--questions", min=1, max=20, help="Questions per request.")
    ] = 3,
    segment_tokens: Annotated[
        int | None,
        typer.Option("--segment-tokens", min=50, help="Length of a segment. Default: 1/5 of the context."),
    ] = None,
    guided: Annotated[
        bool | None,
        typer.Option(
            "--guided/--free",
            help="Prescribe how questions begin and what they name. Default: only for the embedded model.",
        ),
    ] = None,
    attributes: AttributesOption = None,
    options: GeneratorOptions,
) -> None:
    """Generate questions and answers from a persona's profile with Context-Instruct.

    samples.jsonl holds the clean rows in RoleBench's form, each with its source; flagged items go to
    left_out.jsonl with their labels. The same command resumes a stopped run; a greater --limit extends it.

    \b
    Examples:
      rolellm data context-instruct --persona sherlock-holmes --out runs/ci --limit 20
      rolellm data context-instruct -p hamlet.yaml --script hamlet.xml --role Hamlet --dry-run
      rolellm data context-instruct -p shrek --attributes bundled --questions 1 --model openai:gpt-4o-mini
      rolellm data context-instruct -p shrek -p thor --model openai:gpt-4o-mini --max-tokens-total 500000
    """
    from rolellm_graphs.generate.context_instruct import ContextRequest, context_guess, context_instruct

    name, chat_model = generating_model(options)
    length = segment_tokens or _segment_tokens(chat_model)
    characters = tuple(_characters(persona, script, role, tuple(alias or ()), length))
    is_guided = _is_embedded(chat_model) if guided is None else guided
    if attributes and is_guided:
        complain("Guided questions do not follow --attributes; use --free or another model.")
    request = ContextRequest(
        characters=characters,
        attributes=_attributes(attributes, [character.persona for character in characters]),
        questions=questions,
        limit=limit,
        seed=options.seed,
        guided=is_guided,
    )
    drawn = [attributes] if attributes else []
    folder = options.out or own_folder("context-instruct", *persona, name, str(options.seed), *drawn)
    generate(
        partial(context_instruct, request, chat_model, model_name=name, folder=folder),
        partial(context_guess, request),
        name,
        folder,
        options,
    )


@with_option_groups
def rolegpt(
    *,
    personas: Annotated[
        str, typer.Option("--personas", help="Comma-separated ids, names or files, or “all”.")
    ],
    instructions: Annotated[
        Path | None,
        typer.Option(
            "--instructions",
            help="A JSONL file or a saved data set. Default: the 200 bundled instructions.",
        ),
    ] = None,
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            "--strategy",
            "-s",
            help="zero-shot, few-shot-prompt or few-shot-dialogue (the default). Repeatable.",
            metavar="NAME",
        ),
    ] = None,
    samples: Annotated[
        int,
        typer.Option(
            "--samples", min=1, max=100, help="Answers per instruction; the last one is the baseline."
        ),
    ] = 6,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Maximum number of instructions per persona.")
    ] = None,
    options: GeneratorOptions,
) -> None:
    """Let each persona answer general instructions in its own voice with RoleGPT.

    samples.jsonl holds the clean answers, rolegpt_baseline.jsonl the baselines and left_out.jsonl flagged
    items. The same command resumes a stopped run; a greater --limit extends it.

    \b
    Examples:
      rolellm data rolegpt --personas sherlock-holmes,li-bai --out runs/rolegpt --limit 10
      rolellm data rolegpt --personas all --model openai:gpt-4o-mini --dry-run
      rolellm data rolegpt --personas shrek --instructions mine.jsonl -s zero-shot -s few-shot-dialogue
    """
    from rolellm_graphs.generate.rolegpt import STRATEGY, RoleGPTRequest, rolegpt, rolegpt_guess

    name, chat_model = generating_model(options)
    request = RoleGPTRequest(
        personas=tuple(_personas(personas)),
        instructions=_instructions(instructions),
        strategies=tuple(dict.fromkeys(strategy or (STRATEGY,))),
        samples=samples,
        limit=limit,
        seed=options.seed,
    )
    folder = options.out or own_folder(
        "rolegpt", personas, str(instructions), *request.strategies, name, str(options.seed)
    )
    generate(
        partial(rolegpt, request, chat_model, model_name=name, folder=folder),
        partial(rolegpt_guess, request),
        name,
        folder,
        options,
    )


@with_option_groups
def dialogues(
    *,
    personas: Annotated[
        str, typer.Option("--personas", help="Comma-separated ids, names or files, or “all”.")
    ],
    interviewer: Annotated[
        str | None,
        typer.Option("--interviewer", help="The interviewing persona. Default: a nameless interviewer."),
    ] = None,
    each: Annotated[int, typer.Option("--each", min=1, help="Dialogues per persona.")] = 5,
    turns: Annotated[int, typer.Option("--turns", min=1, max=50, help="Answers per dialogue.")] = 4,
    instructions: Annotated[
        Path | None,
        typer.Option(
            "--instructions", help="Opening questions: a JSONL file. Default: the 200 bundled instructions."
        ),
    ] = None,
    attributes: AttributesOption = None,
    options: GeneratorOptions,
) -> None:
    """Generate dialogues of several turns between an interviewer and each persona.

    Rows have `messages`, as chats for training. The same command resumes a stopped run.

    \b
    Examples:
      rolellm data dialogues --personas sherlock-holmes,shrek --each 3 --turns 4 --out runs/talks
      rolellm data dialogues --personas all --interviewer john-keating --dry-run
      rolellm data dialogues --personas shrek --attributes bundled --model openai:gpt-4o-mini
    """
    from rolellm_agents.errors import SettingsError
    from rolellm_agents.persona import load_persona
    from rolellm_graphs.generate.dialogues import DialoguesRequest, dialogues, dialogues_guess

    if attributes and interviewer:
        raise SettingsError("--attributes describe a nameless interviewer; leave --interviewer out.")
    name, chat_model = generating_model(options)
    asked = tuple(_personas(personas))
    request = DialoguesRequest(
        personas=asked,
        attributes=_attributes(attributes, asked),
        instructions=_instructions(instructions),
        interviewer=load_persona(interviewer) if interviewer else None,
        each=each,
        turns=turns,
        seed=options.seed,
    )
    drawn = [attributes] if attributes else []
    folder = options.out or own_folder(
        "dialogues", personas, str(interviewer), name, str(options.seed), *drawn
    )
    generate(
        partial(dialogues, request, chat_model, model_name=name, folder=folder),
        partial(dialogues_guess, request),
        name,
        folder,
        options,
    )


@with_option_groups
def sample_and_reject(
    *,
    data: Annotated[Path, typer.Option("--data", help="A folder of RoleBench, or a generator's run.")],
    each: Annotated[int, typer.Option("--each", min=2, max=100, help="Answers per question.")] = 4,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", min=1, help="Maximum number of questions of each kind, drawn at random by --seed."
        ),
    ] = None,
    language: Annotated[
        Literal["en", "zh"], typer.Option("--language", help="Language of the questions.")
    ] = "en",
    options: RejectionSamplingOptions,
) -> None:
    """Sample several answers of a tuned model to each training question, for preference training.

    samples.jsonl holds the answers and the references. “rolellm train --recipe dpo --data RUN” prefers the
    answer that is most similar to a reference over the least similar one. The ten held-out roles are
    skipped. The same command resumes a stopped run.

    \b
    Examples:
      rolellm data rejection-sampling --data RoleBench --limit 600 --out runs/samples
      rolellm data rejection-sampling --data RoleBench --model mine --each 8 --dry-run
    """
    from rolellm_graphs.generate.rejection_sampling import (
        RejectionSamplingRequest,
        rejection_sampling,
        rejection_sampling_guess,
    )

    name, chat_model = generating_model(options)
    samples = tuple(_training_questions(data, language, limit, options.seed))
    request = RejectionSamplingRequest(
        samples=samples,
        personas=_personas_of(samples),
        each=each,
        seed=options.seed,
    )
    folder = options.out or own_folder(
        "draws", str(data.resolve()), language, str(limit), name, str(options.seed)
    )
    generate(
        partial(rejection_sampling, request, chat_model, model_name=name, folder=folder),
        partial(rejection_sampling_guess, request),
        name,
        folder,
        options,
    )


def _personas_of(samples: "Iterable[Sample]") -> "dict[str, Persona]":
    """The persona of each role that has one."""
    from rolellm_agents.datasets.row_personas import RowPersonas

    personas = RowPersonas(cast_with(None))
    found = {sample.role: personas.of(sample) for sample in samples}
    return {role: persona for role, persona in found.items() if persona is not None}


def _training_questions(data: Path, language: "Language", limit: int | None, seed: int) -> "list[Sample]":
    from rolellm_agents.datasets.held_out import is_held_out
    from rolellm_agents.evaluation.questions import draw_sample
    from rolellm_train.data.rows import training_samples

    found = training_samples(data.expanduser(), language, ("role_specific", "general"))
    trained = [one for one in found if not is_held_out(one.role, one.kind)]
    return draw_sample(trained, limit, seed=seed)


def _attributes(name: str | None, personas: "Sequence[Persona]") -> "Attributes | None":
    from rolellm_agents.generation.attributes import check_languages, load_attributes

    if name is None:
        return None
    attributes = load_attributes(name)
    check_languages(attributes, personas, name)
    return attributes


def _is_embedded(model: "BaseChatModel") -> bool:
    """Whether the model is the embedded one, which needs guided questions."""
    from rolellm_agents.models.llamacpp.files.gguf import is_embedded

    path = getattr(model, "model_path", None)
    return isinstance(path, Path) and is_embedded(path)


def _segment_tokens(model: "BaseChatModel") -> int:
    """Default length of a segment for a model, in tokens."""
    context = getattr(model, "n_ctx", None)
    return min(_LONGEST_SEGMENT, context // _SEGMENT_SHARE) if context else _LONGEST_SEGMENT


def _characters(
    names: list[str], script: Path | None, role: str | None, aliases: tuple[str, ...], length: int
) -> "list[Character]":
    """The personas with the segments of their profiles, with notices about gaps."""
    from rolellm_agents.config.settings import DEFAULT_USER
    from rolellm_agents.errors import SettingsError
    from rolellm_agents.generation.characters import ScriptOf, read_character
    from rolellm_agents.persona import load_persona
    from rolellm_agents.persona.from_card.conversion import with_macros

    loaded = list({one.id: one for one in map(load_persona, names)}.values())
    if script is not None and len(loaded) > 1:
        raise SettingsError("A script belongs to one persona; use --script with a single --persona.")
    characters = []
    for persona in loaded:
        of_role = ScriptOf(script, role or persona.name, aliases) if script else None
        character = read_character(with_macros(persona, DEFAULT_USER), script=of_role, most=length)
        if character.foreign:
            complain(f"{character.foreign} segments of {script} are in another language and were left out.")
        if not character.has_story:
            complain(
                f"{persona.name} has neither knowledge nor demonstrations, so no question is about its "
                "past; name a text with --script."
            )
        characters.append(character)
    return characters


def _personas(names: str) -> "list[Persona]":
    from rolellm_agents.errors import PersonaError
    from rolellm_agents.persona import list_personas, load_persona

    if names.strip() == "all":
        return [found.persona for found in list_personas().found]
    found = [name.strip() for name in names.split(",") if name.strip()]
    if not found:
        raise PersonaError("No persona is named; “rolellm persona list” shows all.")
    return [load_persona(name) for name in found]


def _instructions(source: Path | None) -> "tuple[Instruction, ...]":
    from rolellm_agents.generation.instructions import bundled_instructions, read_instructions

    if source is None:
        return bundled_instructions().all
    read = read_instructions(source)
    if read.repeated:
        complain(f"{read.repeated} instructions of {source} are repeated; each is used once.")
    return read.all

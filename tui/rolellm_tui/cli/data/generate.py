"""`rolellm data context-instruct`, `rolegpt`, `dialogues` and `rejection-sampling`: data out of personas and a model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rolellm_tui.cli.data.generator_options import (
    AnswerTokensOption,
    AtOnceOption,
    CostOption,
    DryRunOption,
    OutOption,
    PriceReadOption,
    PriceWrittenOption,
    RunSeedOption,
    TotalTokensOption,
    generate,
    generating_model,
    limits_of,
    own_folder,
    tell_estimate,
)
from rolellm_tui.cli.options import BaseUrlOption, JsonOption, ModelOption, TemperatureOption
from rolellm_tui.output import complain

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from rolellm_agents.datasets import Sample
    from rolellm_agents.generation.characters import Character
    from rolellm_agents.generation.instructions import Instruction
    from rolellm_agents.persona import Persona
    from rolellm_agents.text.language import Language

_ANSWER_TOKENS = 160
"""The embedded model wanders when it may say more."""
_SEGMENT_SHARE = 5
"""A segment takes a fifth of a model's context: the rest is for the prompt around it and the answer."""
_LONGEST_SEGMENT = 1_200


def context_instruct(
    persona: Annotated[
        list[str], typer.Option("--persona", "-p", help="An id, a name or a file; several may be given.")
    ],
    out: OutOption = None,
    script: Annotated[
        Path | None, typer.Option("--script", help="A play, screenplay, subtitles or novel of the persona.")
    ] = None,
    role: Annotated[
        str | None, typer.Option("--role", help="What the script calls the persona; its name if not given.")
    ] = None,
    alias: Annotated[
        list[str] | None,
        typer.Option("--alias", help="Another name it speaks under; may be given several times."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Questions of each persona at most.")
    ] = None,
    questions: Annotated[
        int, typer.Option("--questions", min=1, max=20, help="Questions to ask for at once.")
    ] = 3,
    segment_tokens: Annotated[
        int | None,
        typer.Option("--segment-tokens", min=50, help="Of a segment; a fifth of the context otherwise."),
    ] = None,
    guided: Annotated[
        bool | None,
        typer.Option(
            "--guided/--free",
            help="Prescribe how questions begin and what they name; so for the embedded model alone.",
        ),
    ] = None,
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    temperature: TemperatureOption = None,
    max_tokens: AnswerTokensOption = _ANSWER_TOKENS,
    seed: RunSeedOption = 0,
    at_once: AtOnceOption = 8,
    max_tokens_total: TotalTokensOption = None,
    max_cost: CostOption = None,
    price_read: PriceReadOption = None,
    price_written: PriceWrittenOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Questions and answers out of a persona's profile, in its voice, each with what it rests on.

    What has a fault is labelled and lies in left_out.jsonl; the rest is samples.jsonl, in RoleBench's form.
    Stopped in the middle, the same command goes on where it was; a greater --limit goes on, too.

    \b
    Examples:
      rolellm data context-instruct --persona sherlock-holmes --out runs/ci --limit 20
      rolellm data context-instruct -p hamlet.yaml --script hamlet.xml --role Hamlet --dry-run
      rolellm data context-instruct -p shrek -p thor --model openai:gpt-4o-mini --max-tokens-total 500000
    """
    from rolellm_graphs.generate.context_instruct import ContextRequest, context_guess, context_instruct

    name, chat_model = generating_model(model, base_url, temperature, max_tokens)
    most = segment_tokens or _fitting(chat_model)
    request = ContextRequest(
        characters=tuple(_characters(persona, script, role, tuple(alias or ()), most)),
        questions=questions,
        limit=limit,
        seed=seed,
        guided=_is_embedded(chat_model) if guided is None else guided,
    )
    limits = limits_of(at_once, max_tokens_total, max_cost, price_read, price_written)
    folder = out or own_folder("context-instruct", *persona, name, str(seed))
    if dry_run:
        keys, guess = context_guess(request)
        tell_estimate(folder, keys, guess, limits, name, as_json=as_json)
        return
    generate(
        lambda callbacks: context_instruct(
            request, chat_model, model_name=name, folder=folder, limits=limits, callbacks=callbacks
        ),
        folder,
        as_json=as_json,
    )


def rolegpt(
    personas: Annotated[
        str, typer.Option("--personas", help="Ids, names or files with commas between, or “all”.")
    ],
    out: OutOption = None,
    instructions: Annotated[
        Path | None,
        typer.Option(
            "--instructions", help="A JSONL file or a saved data set; the 200 bundled ones otherwise."
        ),
    ] = None,
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            "--strategy",
            "-s",
            help="zero-shot, few-shot-prompt or few-shot-dialogue (the default); several may be given.",
            metavar="NAME",
        ),
    ] = None,
    samples: Annotated[
        int, typer.Option("--samples", min=1, max=100, help="Answers to each; the last is the baseline.")
    ] = 6,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Instructions of each persona at most.")
    ] = None,
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    temperature: TemperatureOption = None,
    max_tokens: AnswerTokensOption = _ANSWER_TOKENS,
    seed: RunSeedOption = 0,
    at_once: AtOnceOption = 8,
    max_tokens_total: TotalTokensOption = None,
    max_cost: CostOption = None,
    price_read: PriceReadOption = None,
    price_written: PriceWrittenOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """General instructions answered by each persona in its own voice, five references and a baseline.

    Clean references are samples.jsonl, baselines rolegpt_baseline.jsonl, what has a fault left_out.jsonl.
    Stopped in the middle, the same command goes on where it was; a greater --limit goes on, too.

    \b
    Examples:
      rolellm data rolegpt --personas sherlock-holmes,li-bai --out runs/rolegpt --limit 10
      rolellm data rolegpt --personas all --model openai:gpt-4o-mini --dry-run
      rolellm data rolegpt --personas shrek --instructions mine.jsonl -s zero-shot -s few-shot-dialogue
    """
    from rolellm_graphs.generate.rolegpt import STRATEGY, RoleGPTRequest, rolegpt, rolegpt_guess

    name, chat_model = generating_model(model, base_url, temperature, max_tokens)
    request = RoleGPTRequest(
        personas=tuple(_personas(personas)),
        instructions=_instructions(instructions),
        strategies=tuple(dict.fromkeys(strategy or (STRATEGY,))),
        samples=samples,
        limit=limit,
        seed=seed,
    )
    limits = limits_of(at_once, max_tokens_total, max_cost, price_read, price_written)
    folder = out or own_folder("rolegpt", personas, str(instructions), *request.strategies, name, str(seed))
    if dry_run:
        keys, guess = rolegpt_guess(request)
        tell_estimate(folder, keys, guess, limits, name, as_json=as_json)
        return
    generate(
        lambda callbacks: rolegpt(
            request, chat_model, model_name=name, folder=folder, limits=limits, callbacks=callbacks
        ),
        folder,
        as_json=as_json,
    )


def dialogues(
    personas: Annotated[
        str, typer.Option("--personas", help="Ids, names or files with commas between, or “all”.")
    ],
    out: OutOption = None,
    interviewer: Annotated[
        str | None,
        typer.Option("--interviewer", help="A persona who asks; else somebody without a name."),
    ] = None,
    each: Annotated[int, typer.Option("--each", min=1, help="Dialogues of each persona.")] = 5,
    turns: Annotated[int, typer.Option("--turns", min=1, max=50, help="Answers in a dialogue.")] = 4,
    instructions: Annotated[
        Path | None,
        typer.Option(
            "--instructions", help="What they begin with: a JSONL file; the 200 bundled ones otherwise."
        ),
    ] = None,
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    temperature: TemperatureOption = None,
    max_tokens: AnswerTokensOption = _ANSWER_TOKENS,
    seed: RunSeedOption = 0,
    at_once: AtOnceOption = 8,
    max_tokens_total: TotalTokensOption = None,
    max_cost: CostOption = None,
    price_read: PriceReadOption = None,
    price_written: PriceWrittenOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Conversations of several turns: an interviewer and each persona, each on what it heard itself.

    Rows have `messages`, as chats for training. Stopped in the middle, the same command goes on.

    \b
    Examples:
      rolellm data dialogues --personas sherlock-holmes,shrek --each 3 --turns 4 --out runs/talks
      rolellm data dialogues --personas all --interviewer john-keating --dry-run
    """
    from rolellm_agents.persona import load_persona
    from rolellm_graphs.generate.dialogues import DialoguesRequest, dialogues, dialogues_guess

    name, chat_model = generating_model(model, base_url, temperature, max_tokens)
    request = DialoguesRequest(
        personas=tuple(_personas(personas)),
        instructions=_instructions(instructions),
        interviewer=load_persona(interviewer) if interviewer else None,
        each=each,
        turns=turns,
        seed=seed,
    )
    limits = limits_of(at_once, max_tokens_total, max_cost, price_read, price_written)
    folder = out or own_folder("dialogues", personas, str(interviewer), name, str(seed))
    if dry_run:
        keys, guess = dialogues_guess(request)
        tell_estimate(folder, keys, guess, limits, name, as_json=as_json)
        return
    generate(
        lambda callbacks: dialogues(
            request, chat_model, model_name=name, folder=folder, limits=limits, callbacks=callbacks
        ),
        folder,
        as_json=as_json,
    )


def sample_and_reject(
    data: Annotated[Path, typer.Option("--data", help="A folder of RoleBench, or of a generator's run.")],
    out: OutOption = None,
    each: Annotated[int, typer.Option("--each", min=2, max=100, help="Answers to each question.")] = 4,
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, help="Questions of each kind at most, spread over the roles."),
    ] = None,
    language: Annotated[Literal["en", "zh"], typer.Option("--language", help="Of the questions.")] = "en",
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    temperature: TemperatureOption = 0.8,
    max_tokens: AnswerTokensOption = _ANSWER_TOKENS,
    seed: RunSeedOption = 0,
    at_once: AtOnceOption = 8,
    max_tokens_total: TotalTokensOption = None,
    max_cost: CostOption = None,
    price_read: PriceReadOption = None,
    price_written: PriceWrittenOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Several answers of a tuned model to each training question, for it to learn from the best of its own.

    samples.jsonl has them beside the question's references; of each question the answer that is most like
    a reference is preferred to the one that is least by “rolellm train --recipe dpo --data RUN”. The ten
    roles that nobody may learn are left out. Stopped in the middle, the same command goes on.

    \b
    Examples:
      rolellm data rejection-sampling --data RoleBench --limit 600 --out runs/samples
      rolellm data rejection-sampling --data RoleBench --model mine --each 8 --dry-run
    """
    from rolellm_agents.persona import list_personas
    from rolellm_graphs.generate.rejection_sampling import (
        RejectionSamplingRequest,
        rejection_sampling,
        rejection_sampling_guess,
    )

    name, chat_model = generating_model(model, base_url, temperature, max_tokens)
    cast = [found.persona for found in list_personas().found]
    request = RejectionSamplingRequest(
        samples=tuple(_training_questions(data, language, limit)),
        personas={one.name: one for one in cast if one.language == language},
        each=each,
        seed=seed,
    )
    limits = limits_of(at_once, max_tokens_total, max_cost, price_read, price_written)
    folder = out or own_folder("draws", str(data.resolve()), language, str(limit), name, str(seed))
    if dry_run:
        keys, guess = rejection_sampling_guess(request)
        tell_estimate(folder, keys, guess, limits, name, as_json=as_json)
        return
    generate(
        lambda callbacks: rejection_sampling(
            request, chat_model, model_name=name, folder=folder, limits=limits, callbacks=callbacks
        ),
        folder,
        as_json=as_json,
    )


def _training_questions(data: Path, language: "Language", limit: int | None) -> "list[Sample]":
    from rolellm_agents.datasets.held_out import is_held_out
    from rolellm_agents.evaluation.questions import spread
    from rolellm_train.data.rows import training_samples

    found = training_samples(data.expanduser(), language, ("role_specific", "general"))
    return spread([one for one in found if not is_held_out(one.role, one.kind)], limit)


def _is_embedded(model: "BaseChatModel") -> bool:
    """It is too small to think of questions by itself."""
    from rolellm_agents.models.llamacpp.files.gguf import is_embedded

    path = getattr(model, "model_path", None)
    return isinstance(path, Path) and is_embedded(path)


def _fitting(model: "BaseChatModel") -> int:
    """Tokens of a segment that fits the model."""
    context = getattr(model, "n_ctx", None)
    return min(_LONGEST_SEGMENT, context // _SEGMENT_SHARE) if context else _LONGEST_SEGMENT


def _characters(
    names: list[str], script: Path | None, role: str | None, aliases: tuple[str, ...], most: int
) -> "list[Character]":
    """The personas with their segments; what is missing of a profile is told."""
    from rolellm_agents.config.settings import DEFAULT_USER
    from rolellm_agents.errors import SettingsError
    from rolellm_agents.generation.characters import ScriptOf, read_character
    from rolellm_agents.persona import load_persona
    from rolellm_agents.persona.from_card.conversion import with_macros

    loaded = list({one.id: one for one in map(load_persona, names)}.values())
    if script is not None and len(loaded) > 1:
        raise SettingsError("A script is one persona's; give one --persona with it.")
    characters = []
    for persona in loaded:
        of_role = ScriptOf(script, role or persona.name, aliases) if script else None
        character = read_character(with_macros(persona, DEFAULT_USER), script=of_role, most=most)
        if character.foreign:
            complain(f"{character.foreign} segments of {script} are in another language: left out.")
        if not character.has_story:
            complain(
                f"{persona.name} has neither knowledge nor demonstrations: nothing is asked of its past; "
                "--script names a text that tells it."
            )
        characters.append(character)
    return characters


def _personas(names: str) -> "list[Persona]":
    from rolellm_agents.errors import PersonaError
    from rolellm_agents.persona import list_personas, load_persona

    if names.strip() == "all":
        return [found.persona for found in list_personas().found]
    given = [name.strip() for name in names.split(",") if name.strip()]
    if not given:
        raise PersonaError("No persona is named; “rolellm persona list” shows all.")
    return [load_persona(name) for name in given]


def _instructions(source: Path | None) -> "tuple[Instruction, ...]":
    from rolellm_agents.generation.instructions import bundled_instructions, read_instructions

    if source is None:
        return bundled_instructions().all
    read = read_instructions(source)
    if read.repeated:
        complain(f"{read.repeated} instructions of {source} stand there more than once: taken once.")
    return read.all

"""`rolellm data context-instruct`, `rolegpt`, `dialogues` and `draws`: data out of personas and a model."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rolellm_tui.cli.options import BaseUrlOption, JsonOption, ModelOption, TemperatureOption
from rolellm_tui.cli.output import complain, counted_progress, print_json, print_text

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from rolellm_agents.generating.budget import Tokens
    from rolellm_agents.generating.characters import Character
    from rolellm_agents.generating.estimate import Estimate
    from rolellm_agents.generating.instructions import Instruction
    from rolellm_agents.persona import Language, Persona
    from rolellm_agents.rolebench import Sample
    from rolellm_graphs.generation import Hearing, Limits
    from rolellm_graphs.generator_run import Outcome

_ANSWER_TOKENS = 160
"""The embedded model wanders when it may say more."""
_SEGMENT_SHARE = 5
"""A segment takes a fifth of a model's context: the rest is for the prompt around it and the answer."""
_LONGEST_SEGMENT = 1_200

OutOption = Annotated[
    Path | None, typer.Option("--out", "-o", help="The run's folder; one of your own otherwise.")
]
RunSeedOption = Annotated[int, typer.Option("--seed", help="Of all answers.")]
AnswerTokensOption = Annotated[
    int, typer.Option("--max-tokens", min=8, help="The longest answer, in tokens.")
]
AtOnceOption = Annotated[
    int, typer.Option("--at-once", min=1, max=256, help="Requests to the model at the same time.")
]
TotalTokensOption = Annotated[
    int | None,
    typer.Option("--max-tokens-total", min=1, help="Stop before the run has read and written more."),
]
CostOption = Annotated[
    float | None, typer.Option("--max-cost", min=0, help="Stop before the run has cost more.")
]
PriceReadOption = Annotated[
    float | None, typer.Option("--price-read", min=0, help="Of a million tokens read, for --max-cost.")
]
PriceWrittenOption = Annotated[
    float | None, typer.Option("--price-written", min=0, help="Of a million tokens written.")
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Only tell how many calls, tokens and minutes it would take.")
]


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
    from rolellm_graphs.context_instruct import ContextRequest, context_guess, context_instruct

    name, chat_model = _model(model, base_url, temperature, max_tokens)
    most = segment_tokens or _fitting(chat_model)
    request = ContextRequest(
        characters=tuple(_characters(persona, script, role, tuple(alias or ()), most)),
        questions=questions,
        limit=limit,
        seed=seed,
        guided=_is_embedded(chat_model) if guided is None else guided,
    )
    limits = _limits(at_once, max_tokens_total, max_cost, price_read, price_written)
    folder = out or _own_folder("context-instruct", *persona, name, str(seed))
    if dry_run:
        keys, guess = context_guess(request)
        _tell_estimate(_estimate(folder, keys, guess, limits, name), as_json=as_json)
        return
    _generate(
        lambda hearing: context_instruct(
            request, chat_model, model_name=name, folder=folder, limits=limits, hearing=hearing
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
    from rolellm_graphs.rolegpt import STRATEGY, RoleGPTRequest, rolegpt, rolegpt_guess

    name, chat_model = _model(model, base_url, temperature, max_tokens)
    request = RoleGPTRequest(
        personas=tuple(_personas(personas)),
        instructions=_instructions(instructions),
        strategies=tuple(dict.fromkeys(strategy or (STRATEGY,))),
        samples=samples,
        limit=limit,
        seed=seed,
    )
    limits = _limits(at_once, max_tokens_total, max_cost, price_read, price_written)
    folder = out or _own_folder(
        "rolegpt", personas, str(instructions), *request.strategies, name, str(seed)
    )
    if dry_run:
        keys, guess = rolegpt_guess(request)
        _tell_estimate(_estimate(folder, keys, guess, limits, name), as_json=as_json)
        return
    _generate(
        lambda hearing: rolegpt(
            request, chat_model, model_name=name, folder=folder, limits=limits, hearing=hearing
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
    from rolellm_graphs.dialogues import DialoguesRequest, dialogues, dialogues_guess

    name, chat_model = _model(model, base_url, temperature, max_tokens)
    request = DialoguesRequest(
        personas=tuple(_personas(personas)),
        instructions=_instructions(instructions),
        interviewer=load_persona(interviewer) if interviewer else None,
        each=each,
        turns=turns,
        seed=seed,
    )
    limits = _limits(at_once, max_tokens_total, max_cost, price_read, price_written)
    folder = out or _own_folder("dialogues", personas, str(interviewer), name, str(seed))
    if dry_run:
        keys, guess = dialogues_guess(request)
        _tell_estimate(_estimate(folder, keys, guess, limits, name), as_json=as_json)
        return
    _generate(
        lambda hearing: dialogues(
            request, chat_model, model_name=name, folder=folder, limits=limits, hearing=hearing
        ),
        folder,
        as_json=as_json,
    )


def draws(
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
      rolellm data draws --data RoleBench --limit 600 --out runs/draws
      rolellm data draws --data RoleBench --model mine --each 8 --dry-run
    """
    from rolellm_agents.persona import list_personas
    from rolellm_graphs.draws import DrawsRequest, draws, draws_guess

    name, chat_model = _model(model, base_url, temperature, max_tokens)
    cast = [found.persona for found in list_personas().found]
    request = DrawsRequest(
        samples=tuple(_training_questions(data, language, limit)),
        personas={one.name: one for one in cast if one.language == language},
        each=each,
        seed=seed,
    )
    limits = _limits(at_once, max_tokens_total, max_cost, price_read, price_written)
    folder = out or _own_folder("draws", str(data.resolve()), language, str(limit), name, str(seed))
    if dry_run:
        keys, guess = draws_guess(request)
        _tell_estimate(_estimate(folder, keys, guess, limits, name), as_json=as_json)
        return
    _generate(
        lambda hearing: draws(
            request, chat_model, model_name=name, folder=folder, limits=limits, hearing=hearing
        ),
        folder,
        as_json=as_json,
    )


def _training_questions(data: Path, language: "Language", limit: int | None) -> "list[Sample]":
    from rolellm_agents.benchmarking.questions import spread
    from rolellm_agents.rolebench.held_out import is_held_out
    from rolellm_train.rows import training_samples

    found = training_samples(data.expanduser(), language, ("role_specific", "general"))
    return spread([one for one in found if not is_held_out(one.role, one.kind)], limit)


def _model(
    spec: str | None, base_url: str | None, temperature: float | None, max_tokens: int
) -> "tuple[str, BaseChatModel]":
    from rolellm_agents.models.catalog import get_model
    from rolellm_agents.settings import load_settings

    name = spec or load_settings().model
    return name, get_model(name, temperature=temperature, max_tokens=max_tokens, base_url=base_url)


def _is_embedded(model: "BaseChatModel") -> bool:
    """It is too small to think of questions by itself."""
    from rolellm_agents.models.llamacpp.gguf import is_embedded

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
    from rolellm_agents.card_persona import with_macros
    from rolellm_agents.errors import SettingsError
    from rolellm_agents.generating.characters import ScriptOf, read_character
    from rolellm_agents.persona import load_persona
    from rolellm_agents.settings import DEFAULT_USER

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
    from rolellm_agents.generating.instructions import bundled_instructions, read_instructions

    if source is None:
        return bundled_instructions().all
    read = read_instructions(source)
    if read.repeated:
        complain(f"{read.repeated} instructions of {source} stand there more than once: taken once.")
    return read.all


def _limits(
    at_once: int,
    most_tokens: int | None,
    most_cost: float | None,
    price_read: float | None,
    price_written: float | None,
) -> "Limits":
    from rolellm_agents.generating.budget import Prices
    from rolellm_graphs.generation import Limits

    given = price_read is not None or price_written is not None
    prices = Prices(price_read or 0.0, price_written or 0.0) if given else None
    return Limits(at_once=at_once, most_tokens=most_tokens, most_cost=most_cost, prices=prices)


def _own_folder(*settings: str) -> Path:
    from rolellm_agents.generating.seeds import digest_of
    from rolellm_agents.paths import user_paths

    return user_paths().runs / f"{settings[0]}-{digest_of(' '.join(settings))[:8]}"


def _estimate(
    folder: Path, keys: Callable[[], Iterator[str]], guess: "Tokens", limits: "Limits", model_name: str
) -> "Estimate":
    from rolellm_agents.generating.estimate import estimate_left

    return estimate_left(
        folder, keys, guess, at_once=limits.at_once, model_name=model_name, prices=limits.prices
    )


def _tell_estimate(found: "Estimate", *, as_json: bool) -> None:
    if as_json:
        print_json(asdict(found))
        return
    cost = "" if found.cost is None else f", at a cost of {found.cost:.2f}"
    basis = "as measured in this run" if found.measured else "by a rule of thumb"
    print_text(
        f"{found.items} items, {found.done} of them done; {found.calls} calls are left: about "
        f"{found.tokens.read:,} tokens read and {found.tokens.written:,} written, "
        f"{_duration(found.seconds)}{cost}, {basis}."
    )


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.0f} h"


def _generate(start: "Callable[[Hearing], Awaitable[Outcome]]", folder: Path, *, as_json: bool) -> None:
    """Run it with progress on stderr, and tell what came of it."""
    import asyncio

    from rolellm_graphs.generation import Hearing

    complain(f"The run is kept in {folder}.")
    with counted_progress("Generating") as tell:

        async def run() -> "Outcome":
            return await start(Hearing(progress=tell, notice=complain))

        outcome = asyncio.run(run())
    if as_json:
        print_json(_as_json(outcome, folder))
    else:
        _tell_outcome(outcome, folder)
    _tell_what_is_left(outcome)


def _as_json(outcome: "Outcome", folder: Path) -> dict[str, Any]:
    return {
        "folder": str(folder),
        "complete": outcome.complete,
        "items": outcome.done,
        "planned": outcome.planned,
        "failed": outcome.failures.count,
        "stopped": outcome.stopped,
        "rows": dict(outcome.written.rows),
        "filters": dict(outcome.written.labels),
        "tokens": asdict(outcome.tokens),
        "seconds": round(outcome.seconds, 1),
        "cost": outcome.cost,
    }


def _tell_outcome(outcome: "Outcome", folder: Path) -> None:
    rows, labels = outcome.written.rows, outcome.written.labels
    faults = ", ".join(f"{label} {times}" for label, times in labels.most_common())
    cost = "" if outcome.cost is None else f"; they cost {outcome.cost:.4f}"
    print_text(f"{rows['samples']} clean rows: {folder / 'samples.jsonl'}")
    if rows["rolegpt_baseline"]:
        print_text(f"{rows['rolegpt_baseline']} baselines: {folder / 'rolegpt_baseline.jsonl'}")
    if "left_out" in rows:
        print_text(f"{rows['left_out']} left out: {folder / 'left_out.jsonl'}")
    if faults:
        print_text(f"Labels: {faults}")
    print_text(f"{outcome.tokens.read:,} tokens read, {outcome.tokens.written:,} written{cost}")


def _tell_what_is_left(outcome: "Outcome") -> None:
    """One sentence when the run is not complete; failures are an error."""
    from rolellm_agents.errors import ModelError

    if outcome.failures.count:
        given_up = "; too many in a row, so the rest was not tried" if outcome.stopped == "failures" else ""
        raise ModelError(
            f"{outcome.failures.count} items failed{given_up} ({outcome.failures.first.rstrip('.')}): "
            "the same command tries them again and pays for nothing twice."
        )
    if outcome.stopped == "budget":
        complain(
            f"What may be spent is spent, with {outcome.done} of {outcome.planned} items done; "
            "a greater --max-tokens-total or --max-cost goes on."
        )

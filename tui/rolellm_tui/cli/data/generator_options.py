"""What the commands that generate data share: options, limits, estimates, and how a run is told."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rolellm_tui.output import complain, counted_progress, print_json, print_text

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from rolellm_agents.runs.budget import Tokens
    from rolellm_graphs.generate.run import GenerationOutcome
    from rolellm_graphs.runs.items import RunCallbacks, RunLimits

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


def generating_model(
    spec: str | None, base_url: str | None, temperature: float | None, max_tokens: int
) -> "tuple[str, BaseChatModel]":
    """What a model is called, and the model; the settings' one if none is named."""
    from rolellm_agents.config.settings import load_settings
    from rolellm_agents.models.catalog import get_model

    name = spec or load_settings().model
    return name, get_model(name, temperature=temperature, max_tokens=max_tokens, base_url=base_url)


def limits_of(
    at_once: int,
    most_tokens: int | None,
    most_cost: float | None,
    price_read: float | None,
    price_written: float | None,
) -> "RunLimits":
    """What one start of a run may do."""
    from rolellm_agents.runs.budget import Prices
    from rolellm_graphs.runs.items import RunLimits

    given = price_read is not None or price_written is not None
    prices = Prices(price_read or 0.0, price_written or 0.0) if given else None
    return RunLimits(at_once=at_once, most_tokens=most_tokens, most_cost=most_cost, prices=prices)


def own_folder(*settings: str) -> Path:
    """The folder of a run that was given none, told by what it depends on; its kind comes first."""
    from rolellm_agents.config.paths import user_paths
    from rolellm_agents.runs.seeds import digest_of

    return user_paths().runs / f"{settings[0]}-{digest_of(' '.join(settings))[:8]}"


def tell_estimate(
    folder: Path,
    keys: Callable[[], Iterator[str]],
    guess: "Tokens",
    limits: "RunLimits",
    model_name: str,
    *,
    as_json: bool,
) -> None:
    """Tell what is left of a run, and what it may take, without asking a model.

    Args:
        folder: of the run.
        keys: of all its items.
        guess: what one item may take.
        limits: what a start may do.
        model_name: who would be asked.
        as_json: for programs.
    """
    from rolellm_agents.runs.estimate import estimate_left

    found = estimate_left(
        folder, keys, guess, at_once=limits.at_once, model_name=model_name, prices=limits.prices
    )
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


def generate(
    start: "Callable[[RunCallbacks], Awaitable[GenerationOutcome]]", folder: Path, *, as_json: bool
) -> None:
    """Run it with progress on stderr, and tell what came of it."""
    import asyncio

    from rolellm_graphs.runs.items import RunCallbacks

    complain(f"The run is kept in {folder}.")
    with counted_progress("Generating") as tell:

        async def run() -> "GenerationOutcome":
            return await start(RunCallbacks(progress=tell, notice=complain))

        outcome = asyncio.run(run())
    if as_json:
        print_json(_as_json(outcome, folder))
    else:
        _tell_outcome(outcome, folder)
    _tell_what_is_left(outcome)


def _as_json(outcome: "GenerationOutcome", folder: Path) -> dict[str, Any]:
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


def _tell_outcome(outcome: "GenerationOutcome", folder: Path) -> None:
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


def _tell_what_is_left(outcome: "GenerationOutcome") -> None:
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

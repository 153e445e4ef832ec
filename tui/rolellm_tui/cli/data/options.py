"""Options, estimates and reports that the commands share which generate data."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rolellm_tui.cli.options import (
    BaseUrlOption,
    JsonOption,
    ModelOption,
    RunFolderOption,
    TemperatureOption,
)
from rolellm_tui.output import complain, counted_progress, print_json, print_text

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from rolellm_agents.runs.budget import Tokens
    from rolellm_graphs.generate.run import GenerationOutcome
    from rolellm_graphs.runs.items import RunLimits

_ANSWER_TOKENS = 160
"""Longer answers of the embedded model lose the subject."""


@dataclass(frozen=True)
class GeneratorOptions:
    """Options of the commands that generate data."""

    out: RunFolderOption = None
    model: ModelOption = None
    base_url: BaseUrlOption = None
    temperature: TemperatureOption = None
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", min=8, help="Maximum length of an answer, in tokens.")
    ] = _ANSWER_TOKENS
    seed: Annotated[int, typer.Option("--seed", help="Sampling seed.")] = 0
    at_once: Annotated[
        int, typer.Option("--at-once", min=1, max=256, help="Concurrent requests to the model.")
    ] = 8
    max_tokens_total: Annotated[
        int | None,
        typer.Option("--max-tokens-total", min=1, help="Stop before the run uses more tokens than this."),
    ] = None
    max_cost: Annotated[
        float | None, typer.Option("--max-cost", min=0, help="Stop before the run costs more than this.")
    ] = None
    price_read: Annotated[
        float | None,
        typer.Option(
            "--price-read", min=0, help="Price of a million input tokens. Default: that of prices.toml."
        ),
    ] = None
    price_written: Annotated[
        float | None, typer.Option("--price-written", min=0, help="Price of a million output tokens.")
    ] = None
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only estimate the calls, tokens and minutes of the run.")
    ] = False
    as_json: JsonOption = False


@dataclass(frozen=True)
class RejectionSamplingOptions(GeneratorOptions):
    """Options of a generator whose answers to one question must differ."""

    temperature: TemperatureOption = 0.8


def generating_model(options: GeneratorOptions) -> "tuple[str, BaseChatModel]":
    """Open the model that generates; the settings' model if none is named.

    Returns:
        Its name, and the model.
    """
    from rolellm_agents.config.settings import load_settings
    from rolellm_agents.models.catalog import get_model

    name = options.model or load_settings().model
    model = get_model(
        name,
        temperature=options.temperature,
        max_tokens=options.max_tokens,
        base_url=options.base_url,
    )
    return name, model


def own_folder(*settings: str) -> Path:
    """The default folder of a run, named after its kind (the first setting) and a digest of all."""
    from rolellm_agents.config.paths import user_paths
    from rolellm_agents.runs.seeds import digest_of

    return user_paths().runs / f"{settings[0]}-{digest_of(' '.join(settings))[:8]}"


def generate(
    start: "Callable[..., Awaitable[GenerationOutcome]]",
    plan: "Callable[[], tuple[Callable[[], Iterator[str]], Tokens]]",
    model_name: str,
    folder: Path,
    options: GeneratorOptions,
) -> None:
    """Run a generator with progress on stderr, or estimate the run, and report the result.

    Args:
        start: starts the generator with `limits` and `callbacks`.
        plan: gives the keys of all items, and an estimate of one item's tokens.
        model_name: the model's name.
        folder: the run's folder.
        options: the options of the command.

    Raises:
        ModelError: the model failed at some items.
    """
    import asyncio

    from rolellm_graphs.runs.items import RunCallbacks

    limits = _limits(options, model_name)
    if options.dry_run:
        keys, guess = plan()
        _print_estimate(folder, keys, guess, limits, model_name, as_json=options.as_json)
        return
    complain(f"The run is kept in {folder}.")
    with counted_progress("Generating") as progress:

        async def run() -> "GenerationOutcome":
            return await start(limits=limits, callbacks=RunCallbacks(progress=progress, notice=complain))

        outcome = asyncio.run(run())
    if options.as_json:
        print_json(_as_json(outcome, folder))
    else:
        _print_outcome(outcome, folder)
    _report_incomplete(outcome)


def _limits(options: GeneratorOptions, model_name: str) -> "RunLimits":
    from rolellm_agents.models.prices import prices_of
    from rolellm_agents.runs.budget import Prices
    from rolellm_graphs.runs.items import RunLimits

    given = options.price_read is not None or options.price_written is not None
    prices = (
        Prices(options.price_read or 0.0, options.price_written or 0.0) if given else prices_of(model_name)
    )
    return RunLimits(
        at_once=options.at_once,
        most_tokens=options.max_tokens_total,
        most_cost=options.max_cost,
        prices=prices,
    )


def _print_estimate(
    folder: Path,
    keys: Callable[[], Iterator[str]],
    guess: "Tokens",
    limits: "RunLimits",
    model_name: str,
    *,
    as_json: bool,
) -> None:
    """Print what is left of a run and its estimated cost, without calling a model."""
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


def _print_outcome(outcome: "GenerationOutcome", folder: Path) -> None:
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


def _report_incomplete(outcome: "GenerationOutcome") -> None:
    """Report an incomplete run: a spent budget as a notice, failures as an error."""
    from rolellm_agents.errors import ModelError

    if outcome.failures.count:
        given_up = "; too many in a row, so the rest was not tried" if outcome.stopped == "failures" else ""
        raise ModelError(
            f"{outcome.failures.count} items failed{given_up} ({outcome.failures.first.rstrip('.')}): "
            "run the same command again to retry them; finished items are not computed again."
        )
    if outcome.stopped == "budget":
        complain(
            f"The budget is spent, with {outcome.done} of {outcome.planned} items done; "
            "continue with a greater --max-tokens-total or --max-cost."
        )

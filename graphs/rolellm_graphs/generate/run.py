"""A generator's run from its plan to its files, shared by all generators."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel

from rolellm_agents.generation.samples import Part, SampleRow, SamplesWritten, write_rows
from rolellm_agents.runs.budget import Tokens
from rolellm_agents.runs.folder import open_run
from rolellm_agents.runs.items import FinishedItems
from rolellm_graphs.runs.items import Failures, Generation, RunCallbacks, RunLimits, Stop, prepared


@dataclass(frozen=True, kw_only=True)
class GenerationOutcome:
    """The result of one start of a run."""

    planned: int
    """The number of items planned so far."""
    done: int
    failures: Failures
    stopped: Stop
    written: SamplesWritten
    tokens: Tokens
    seconds: float
    """The sum of all calls' durations."""
    cost: float | None

    @property
    def complete(self) -> bool:
        """Whether all items are finished."""
        return self.done == self.planned


@dataclass(frozen=True, kw_only=True)
class GenerationPlan:
    """The items of a generator, and the functions that make and convert them."""

    config: Mapping[str, Any]
    """All settings that the items depend on."""
    item_keys: Callable[[], Iterator[str]]
    """Returns the keys of all items, in the order of the plan."""
    work: Callable[[Generation], Awaitable[object]]
    """Makes the items."""
    rows: Callable[[FinishedItems], Iterator[SampleRow]]
    """Converts finished items to the rows of the files."""
    parts: Sequence[Part]
    """The files."""


async def run_plan(
    plan: GenerationPlan, model: BaseChatModel, folder: Path, limits: RunLimits, callbacks: RunCallbacks
) -> GenerationOutcome:
    """Make the missing items of a run, and write its files, also when the run stops early.

    Raises:
        StorageError: the folder cannot be written, or contains another run; finished items are kept.
        SettingsError: a cost limit without prices.
        ModelError: the model cannot be loaded.
    """
    with open_run(folder, plan.config, in_memory=False) as run:
        finished = FinishedItems(run, plan.item_keys)
        generation = Generation(finished, prepared(model, limits.at_once), limits, callbacks)
        generation.expect(sum(1 for _ in plan.item_keys()))
        if finished.count < generation.planned:
            run.reopen()
        try:
            await plan.work(generation)
        finally:
            written = write_rows(folder, plan.rows(finished), plan.parts)
        outcome = _outcome(generation, written)
        if outcome.complete:
            run.finish(_manifest(outcome))
        return outcome


def _outcome(generation: Generation, written: SamplesWritten) -> GenerationOutcome:
    prices, finished = generation.budget.prices, generation.finished
    return GenerationOutcome(
        planned=generation.planned,
        done=finished.count,
        failures=generation.failures,
        stopped=generation.stopped,
        written=written,
        tokens=finished.tokens,
        seconds=finished.seconds,
        cost=prices.cost(finished.tokens) if prices else None,
    )


def _manifest(outcome: GenerationOutcome) -> dict[str, Any]:
    return {
        "items": outcome.done,
        "rows": dict(outcome.written.rows),
        "filters": dict(sorted(outcome.written.labels.items())),
        "tokens": {"read": outcome.tokens.read, "written": outcome.tokens.written},
        "seconds": round(outcome.seconds, 1),
        "cost": outcome.cost,
    }

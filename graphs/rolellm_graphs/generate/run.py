"""A generator's run from its plan to its files: what Context-Instruct and RoleGPT have in common."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel

from rolellm_agents.generation.samples import Part, SampleRow, SamplesWritten, write_rows
from rolellm_agents.runs.budget import Tokens
from rolellm_agents.runs.folder import open_long_run
from rolellm_agents.runs.items import FinishedItems
from rolellm_graphs.runs.items import Failures, Generation, RunCallbacks, RunLimits, Stop, prepared


@dataclass(frozen=True, kw_only=True)
class GenerationOutcome:
    """What a start of a run came to."""

    planned: int
    """Items of the whole run, as far as it is known."""
    done: int
    failures: Failures
    stopped: Stop
    written: SamplesWritten
    tokens: Tokens
    seconds: float
    """Of waiting for the model, all requests one after the other."""
    cost: float | None

    @property
    def complete(self) -> bool:
        """Whether nothing is left to do."""
        return self.done == self.planned


@dataclass(frozen=True, kw_only=True)
class GenerationPlan:
    """A generator's run, as far as both generators have it."""

    config: Mapping[str, Any]
    """All that the items depend on."""
    item_keys: Callable[[], Iterator[str]]
    """Of all items, in the order of the plan."""
    work: Callable[[Generation], Awaitable[object]]
    """Makes the items."""
    rows: Callable[[FinishedItems], Iterator[SampleRow]]
    """From what is finished to the rows of the files."""
    parts: Sequence[Part]
    """The files."""


async def run_plan(
    plan: GenerationPlan, model: BaseChatModel, folder: Path, limits: RunLimits, callbacks: RunCallbacks
) -> GenerationOutcome:
    """Do what is left of a run, and write its files: whole, however it ends.

    Raises:
        StorageError: the folder cannot be written, or holds another run; what is finished is kept.
        SettingsError: a greatest cost without prices.
        ModelError: the model cannot be loaded.
    """
    with open_long_run(folder, plan.config) as run:
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
            run.finish(_told(outcome))
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


def _told(outcome: GenerationOutcome) -> dict[str, Any]:
    """What the manifest says."""
    return {
        "items": outcome.done,
        "rows": dict(outcome.written.rows),
        "filters": dict(sorted(outcome.written.labels.items())),
        "tokens": {"read": outcome.tokens.read, "written": outcome.tokens.written},
        "seconds": round(outcome.seconds, 1),
        "cost": outcome.cost,
    }

"""Makes the missing items of a run concurrently; a stopped run resumes."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, takewhile
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeVar

from langchain_core.language_models import BaseChatModel
from typing_extensions import TypedDict

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.models.failures import explain_failure
from rolellm_agents.models.llamacpp.files.gguf import is_embedded
from rolellm_agents.models.local import load_model
from rolellm_agents.runs.backoff import Backoff
from rolellm_agents.runs.budget import Budget, Prices
from rolellm_agents.runs.items import FinishedItems
from rolellm_graphs.runs.model_calls import BudgetSpentError, ClosedError, ModelCalls, ModelReply

AT_ONCE: Final = 8
"""Default concurrency limit, which suits llama.cpp's batches and most servers."""
_MOST_SEQUENCES: Final = 16
MAX_FAILURES: Final = 20
"""Consecutive failures after which a run stops."""

Stop = Literal["", "budget", "failures"]
"""Why a run stopped before all items were made; empty if it is complete."""
Progress = Callable[[int, int], None]
"""Called with the number of finished items and of all items."""
_Work = TypeVar("_Work")


class PlannedItem(TypedDict):
    """An item of a run's plan."""

    number: int
    """The item's index in the plan."""
    key: str


@dataclass(frozen=True, kw_only=True)
class RunLimits:
    """Limits of one start of a run; they do not affect the items' content."""

    at_once: int = AT_ONCE
    most_tokens: int | None = None
    """Limit of prompt and answer tokens over all starts of the run."""
    most_cost: float | None = None
    prices: Prices | None = None


@dataclass(frozen=True, kw_only=True)
class RunCallbacks:
    """Functions that a run calls to report progress and notices."""

    progress: Progress = lambda _done, _total: None
    notice: Callable[[str], None] = lambda _sentence: None


@dataclass
class Failures:
    """Items that failed since the run was last started; they are retried when it is resumed."""

    count: int = 0
    first: str = ""
    in_a_row: int = field(default=0, repr=False)

    def add(self, error: RoleLLMError) -> None:
        """Count a failure."""
        self.count += 1
        self.in_a_row += 1
        self.first = self.first or str(error)


Make = Callable[[], Awaitable[dict[str, Any]]]
"""Function that makes one item."""


class ItemMaker(Protocol):
    """Makes items for the graphs of the generators."""

    calls: ModelCalls

    def expect(self, items: int) -> None:
        """Add to the number of planned items; negative to subtract."""

    async def item(self, number: int, key: str, make: Make) -> Any:
        """The item with this number; None when it could not be made."""


async def run_workers(
    works: Iterator[_Work], do: Callable[[_Work], Awaitable[object]], at_once: int
) -> None:
    """Process all works with `at_once` concurrent workers.

    The first exception cancels the other workers and is raised.
    """

    async def worker() -> None:
        for work in works:
            await do(work)

    workers = [asyncio.ensure_future(worker()) for _ in range(at_once)]
    try:
        await asyncio.gather(*workers)
    finally:
        for one in workers:
            one.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


class Generation:
    """One start of a run: makes and records the missing items."""

    def __init__(
        self,
        finished: FinishedItems,
        model: BaseChatModel,
        limits: RunLimits,
        callbacks: RunCallbacks,
    ) -> None:
        """Prepare the calls of the model.

        Raises:
            SettingsError: a cost limit without prices.
        """
        self.finished = finished
        self.failures = Failures()
        self.stopped: Stop = ""
        self.budget = Budget(
            most_tokens=limits.most_tokens,
            most_cost=limits.most_cost,
            prices=limits.prices,
            spent=finished.tokens,
        )
        self._total = 0
        self._model = model
        self._at_once = limits.at_once
        self._callbacks = callbacks
        backoff = Backoff(
            on_wait=lambda seconds: callbacks.notice(
                f"The model's server cannot take requests now; waiting {seconds:.0f} s."
            )
        )
        self.calls = ModelCalls(model, at_once=limits.at_once, budget=self.budget, backoff=backoff)

    def expect(self, items: int) -> None:
        """See `ItemMaker`."""
        self._total += items
        self._callbacks.progress(self.finished.count, self._total)

    async def item(self, number: int, key: str, make: Make) -> Any:
        """The item with this number in the plan: from disk, or newly made and recorded.

        Returns:
            None when the item failed or the run has stopped.

        Raises:
            StorageError: the disk is full or read-only.
        """
        if number in self.finished:
            return self.finished.get(number)
        if self.stopped:
            return None
        try:
            value = await make()
        except BudgetSpentError:
            self.stopped = self.stopped or "budget"
            return None
        except ClosedError:
            return None
        except Exception as error:
            explained = explain_failure(error, self._model)
            if explained is None:
                raise
            self._fail(explained)
            return None
        self.finished.put(number, key, value)
        self.failures.in_a_row = 0
        self._callbacks.progress(self.finished.count, self._total)
        return value

    @property
    def planned(self) -> int:
        """The number of items planned so far."""
        return self._total

    async def work_through(self, works: Iterator[_Work], do: Callable[[_Work], Awaitable[object]]) -> None:
        """Process works with as many workers as the concurrency limit, until the run stops.

        Raises:
            StorageError: the disk is full or read-only.
            ModelError: the model cannot be loaded.
        """
        first = next(works, None)
        if first is None:
            return
        await asyncio.to_thread(load_model, self._model)
        open_works = takewhile(lambda _: not self.stopped, chain([first], works))
        await run_workers(open_works, do, self._at_once)

    def _fail(self, error: RoleLLMError) -> None:
        self.failures.add(error)
        if self.failures.in_a_row >= MAX_FAILURES:
            self.stopped = "failures"
            self.calls.close()


class Unrecorded:
    """An `ItemMaker` that records nothing and has no limits."""

    def __init__(self, model: BaseChatModel) -> None:
        """Use a model."""
        self._model = model
        self.calls = ModelCalls(model, at_once=AT_ONCE, budget=Budget(), backoff=Backoff())

    def expect(self, items: int) -> None:
        """Do nothing."""

    async def item(self, number: int, key: str, make: Make) -> Any:
        """Make the item.

        Raises:
            ModelError: the model cannot be loaded, or fails.
        """
        try:
            await asyncio.to_thread(load_model, self._model)
            return await make()
        except Exception as error:
            explained = explain_failure(error, self._model)
            if explained is None:
                raise
            raise explained from error


def is_embedded_model(model: BaseChatModel) -> bool:
    """Whether the model's file is the embedded one."""
    path = getattr(model, "model_path", None)
    return isinstance(path, Path) and is_embedded(path)


def prepared(model: BaseChatModel, at_once: int) -> BaseChatModel:
    """The embedded model with one sequence for each concurrent request; other models unchanged.

    One sequence of a larger model may need a gigabyte, so other models use as many as fit into memory.
    """
    if is_embedded_model(model) and not getattr(model, "sequences", 1):
        return model.model_copy(update={"sequences": min(at_once, _MOST_SEQUENCES)})
    return model


def made_by(model_name: str, prompts: Sequence[str], reply: ModelReply, seed: int) -> dict[str, Any]:
    """An item's provenance."""
    return {
        "model": model_name,
        "prompts": list(prompts),
        "seed": seed,
        "tokens": {"read": reply.tokens.read, "written": reply.tokens.written},
        "seconds": reply.seconds,
    }

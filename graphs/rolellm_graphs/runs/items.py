"""What both generators do with their items: make each one once, keep it, go on where a run was stopped."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
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
"""Requests at the same time: llama.cpp decodes them in one batch, and servers take as many."""
_MOST_SEQUENCES: Final = 16
_GIVE_UP: Final = 20
"""So many failures with nothing between them will be followed by more."""

Stop = Literal["", "budget", "failures"]
"""Why a run ended before its plan did; empty when it did not."""
Progress = Callable[[int, int], None]
"""Is told how many items are done, and how many there will be."""
_Work = TypeVar("_Work")


class PlannedItem(TypedDict):
    """One item that is to be made."""

    number: int
    """In the plan."""
    key: str


@dataclass(frozen=True, kw_only=True)
class RunLimits:
    """What one start of a run may do; none of it changes what an item is like."""

    at_once: int = AT_ONCE
    most_tokens: int | None = None
    """Of the run as a whole, read and written."""
    most_cost: float | None = None
    prices: Prices | None = None


@dataclass(frozen=True, kw_only=True)
class RunCallbacks:
    """Whom to tell what."""

    progress: Progress = lambda _done, _total: None
    notice: Callable[[str], None] = lambda _sentence: None


@dataclass
class Failures:
    """What could not be made this time; the next start tries again."""

    count: int = 0
    first: str = ""
    in_a_row: int = field(default=0, repr=False)

    def add(self, error: RoleLLMError) -> None:
        """One more."""
        self.count += 1
        self.in_a_row += 1
        self.first = self.first or str(error)


Make = Callable[[], Awaitable[dict[str, Any]]]
"""Makes one item."""


class ItemMaker(Protocol):
    """Where items are made, as far as the graphs of the generators know of it."""

    calls: ModelCalls

    def expect(self, items: int) -> None:
        """There will be so many more items in all, or fewer if it is negative."""

    async def item(self, number: int, key: str, make: Make) -> Any:
        """The item with this number; None when there is none."""


class Generation:
    """The items of one run, as they are made in this process."""

    def __init__(
        self,
        finished: FinishedItems,
        model: BaseChatModel,
        limits: RunLimits,
        callbacks: RunCallbacks,
    ) -> None:
        """Nothing is asked yet.

        Args:
            finished: what is on disk.
            model: who is asked.
            limits: what this start may do.
            callbacks: whom to tell of it.

        Raises:
            SettingsError: a greatest cost without prices.
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
        backoff = Backoff(tell=self._tell_of_waiting)
        self.calls = ModelCalls(model, at_once=limits.at_once, budget=self.budget, backoff=backoff)

    def expect(self, items: int) -> None:
        """There will be so many more items in all, or fewer if it is negative."""
        self._total += items
        self._callbacks.progress(self.finished.count, self._total)

    async def item(self, number: int, key: str, make: Make) -> Any:
        """The item with this number in the plan: from disk, or made now and kept at once.

        Returns:
            None when it failed, or when no more is to be made.

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
        """Items in all, as far as it is known."""
        return self._total

    async def work_through(self, works: Iterator[_Work], do: Callable[[_Work], Awaitable[object]]) -> None:
        """Do all works, so many at once as there may be requests, and take the next only when one is done.

        Raises:
            StorageError: the disk is full or read-only.
            ModelError: the model cannot be loaded.
        """
        first = next(works, None)
        if first is None:
            return
        await asyncio.to_thread(load_model, self._model)
        left = chain([first], works)

        async def worker() -> None:
            for work in left:
                if self.stopped:
                    return
                await do(work)

        workers = [asyncio.ensure_future(worker()) for _ in range(self._at_once)]
        try:
            await asyncio.gather(*workers)
        finally:
            for one in workers:
                one.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.gather(*workers, return_exceptions=True)

    def _fail(self, error: RoleLLMError) -> None:
        self.failures.add(error)
        if self.failures.in_a_row >= _GIVE_UP:
            self.stopped = "failures"
            self.calls.close()

    def _tell_of_waiting(self, seconds: float) -> None:
        self._callbacks.notice(f"The model's server cannot take requests now; waiting {seconds:.0f} s.")


class Unrecorded:
    """Items that are made for whoever waits for them, and kept nowhere."""

    def __init__(self, model: BaseChatModel) -> None:
        """Ask this model; nothing limits how much."""
        self._model = model
        self.calls = ModelCalls(model, at_once=AT_ONCE, budget=Budget(), backoff=Backoff())

    def expect(self, items: int) -> None:
        """Nobody counts."""

    async def item(self, number: int, key: str, make: Make) -> Any:
        """The item, made now.

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
    """Whether it is the embedded one."""
    path = getattr(model, "model_path", None)
    return isinstance(path, Path) and is_embedded(path)


def prepared(model: BaseChatModel, at_once: int) -> BaseChatModel:
    """The model with room for so many requests at once, if it is the embedded one.

    Others take as many as their memory allows: a sequence of theirs may need a gigabyte.
    """
    if is_embedded_model(model) and not getattr(model, "sequences", 1):
        return model.model_copy(update={"sequences": min(at_once, _MOST_SEQUENCES)})
    return model


def made_by(model_name: str, prompts: Sequence[str], reply: ModelReply, seed: int) -> dict[str, Any]:
    """What an item tells of how it came about."""
    return {
        "model": model_name,
        "prompts": list(prompts),
        "seed": seed,
        "tokens": {"read": reply.tokens.read, "written": reply.tokens.written},
        "seconds": reply.seconds,
    }

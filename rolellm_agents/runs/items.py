"""The finished items of a run by their numbers in its plan; memory holds only their offsets."""

from array import array
from collections.abc import Callable, Iterable
from typing import Any

from rolellm_agents.runs.budget import Tokens
from rolellm_agents.runs.folder import Run

_MISSING = -1


class FinishedItems:
    """The finished items of a plan, which take eight bytes of memory each."""

    def __init__(self, run: Run, keys: Callable[[], Iterable[str]]) -> None:
        """Look up which of the planned items are on disk.

        `keys` returns the planned items' keys in the plan's order; the run is open.

        Raises:
            StorageError: a line of the run is damaged.
        """
        self._run = run
        offsets: dict[str, int] = {}
        self.tokens = Tokens()
        """Tokens of all items of the run, including those that are no longer planned."""
        self.seconds = 0.0
        """Seconds of waiting for a model, of the same items."""
        for offset, key, value in run.stored():
            offsets[key] = offset
            self._count(value)
        self._offsets = array("q", (offsets.get(key, _MISSING) for key in keys()))
        self.count = sum(offset != _MISSING for offset in self._offsets)
        """How many of the planned items are done."""
        self.recorded = len(offsets)
        """How many items the run has, including those that are no longer planned."""

    def __contains__(self, number: int) -> bool:
        return self._offsets[number] != _MISSING

    def get(self, number: int) -> Any:
        """The item with this number in the plan; None if it is not done.

        Raises:
            StorageError: the run's file cannot be read.
        """
        offset = self._offsets[number]
        return None if offset == _MISSING else self._run.read(offset)

    def put(self, number: int, key: str, value: Any) -> None:
        """Record an item; it is on disk when this returns.

        Raises:
            StorageError: the disk is full or read-only.
        """
        self._offsets[number] = self._run.append(key, value)
        self.count += 1
        self.recorded += 1
        self._count(value)

    def _count(self, value: Any) -> None:
        self.tokens += Tokens(value["tokens"]["read"], value["tokens"]["written"])
        self.seconds += value["seconds"]

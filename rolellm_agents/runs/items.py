"""The finished items of a run by their numbers in its plan; memory holds only where each one stands."""

from array import array
from collections.abc import Callable, Iterable
from typing import Any

from rolellm_agents.runs.budget import Tokens
from rolellm_agents.runs.folder import LongRun

_NOWHERE = -1


class FinishedItems:
    """What is done of a plan; eight bytes an item."""

    def __init__(self, run: LongRun, keys: Callable[[], Iterable[str]]) -> None:
        """Look up which of the planned items are on disk.

        Args:
            run: open.
            keys: the planned items' keys in the plan's order, as often as they are asked for.

        Raises:
            StorageError: a line of the run is damaged.
        """
        self._run = run
        places: dict[str, int] = {}
        self.tokens = Tokens()
        """What all items of the run took, also those that are not planned any more."""
        self.seconds = 0.0
        """The same in seconds of waiting for a model."""
        for place, key, value in run.items():
            places[key] = place
            self._count(value)
        self._places = array("q", (places.get(key, _NOWHERE) for key in keys()))
        self.count = sum(place != _NOWHERE for place in self._places)
        """How many of the planned items are done."""
        self.recorded = len(places)
        """How many items the run has, also those that are not planned any more."""

    def __contains__(self, number: int) -> bool:
        return self._places[number] != _NOWHERE

    def get(self, number: int) -> Any:
        """The item with this number in the plan; None if it is not done.

        Raises:
            StorageError: it cannot be read.
        """
        place = self._places[number]
        return None if place == _NOWHERE else self._run.read(place)

    def put(self, number: int, key: str, value: Any) -> None:
        """Record an item; it is on disk when this returns.

        Raises:
            StorageError: the disk is full or read-only.
        """
        self._places[number] = self._run.append(key, value)
        self.count += 1
        self.recorded += 1
        self._count(value)

    def _count(self, value: Any) -> None:
        self.tokens += Tokens(value["tokens"]["read"], value["tokens"]["written"])
        self.seconds += value["seconds"]

"""How fast a queue moves, and how long it would take to get through it."""

import math
from collections import deque
from typing import Final

_WINDOW: Final = 60.0
"""Seconds that are looked back on."""
_LEAST: Final = 1.0
"""Seconds that are looked back on at least: two requests that begin together tell nothing of the pace."""
_MOST: Final = 600
"""Seconds: nobody believes a longer estimate."""


class QueuePace:
    """Counts how many requests began lately."""

    def __init__(self) -> None:
        """Nobody has begun yet."""
        self._begun: deque[float] = deque()

    def note(self, now: float) -> None:
        """A request began.

        Args:
            now: seconds of a clock that only goes forward, as in all other calls.
        """
        self._begun.append(now)
        self._forget(now)

    def seconds_for(self, requests: int, now: float) -> int:
        """Estimate in how many whole seconds so many requests will have begun; one to `_MOST`."""
        self._forget(now)
        if not self._begun:
            return math.ceil(_WINDOW)
        passed = max(_LEAST, now - self._begun[0])
        return min(_MOST, max(1, math.ceil(requests * passed / len(self._begun))))

    def _forget(self, now: float) -> None:
        while self._begun and self._begun[0] < now - _WINDOW:
            self._begun.popleft()

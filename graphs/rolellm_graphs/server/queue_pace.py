"""Estimates of waiting times from the recent pace of a queue."""

import math
from collections import deque
from typing import Final

_WINDOW: Final = 60.0
"""Length of the observed window, in seconds."""
_LEAST: Final = 1.0
"""Minimum window in seconds: two simultaneous starts say nothing about the pace."""
_MOST: Final = 600
"""Maximum estimate, in seconds."""


class QueuePace:
    """Counts recently admitted requests."""

    def __init__(self) -> None:
        """Create an empty counter."""
        self._starts: deque[float] = deque()

    def note(self, now: float) -> None:
        """Record an admitted request.

        Args:
            now: the time of a monotonic clock in seconds; all calls use the same clock.
        """
        self._starts.append(now)
        self._forget(now)

    def seconds_for(self, requests: int, now: float) -> int:
        """Estimate the seconds until this many requests are admitted; from 1 to `_MOST`."""
        self._forget(now)
        if not self._starts:
            return math.ceil(_WINDOW)
        elapsed = max(_LEAST, now - self._starts[0])
        return min(_MOST, max(1, math.ceil(requests * elapsed / len(self._starts))))

    def _forget(self, now: float) -> None:
        while self._starts and self._starts[0] < now - _WINDOW:
            self._starts.popleft()

"""How many requests a client sends in a minute."""

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Final

_MINUTE: Final = 60.0
_MOST_CLIENTS: Final = 10_000
"""Clients that are remembered; then the one whose last request is the oldest is forgotten."""


class RequestRates:
    """Counts requests of clients. A minute's requests may come at once; then one comes free at a time."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Create an empty counter; the clock returns monotonic seconds."""
        self._clock = clock
        self._lock = Lock()
        self._free_at: OrderedDict[Hashable, float] = OrderedDict()
        """When all requests of a client are forgotten."""

    def seconds_left(self, client: Hashable, per_minute: int) -> int:
        """How long the client has to wait until its next request, in whole seconds; 0 if it need not."""
        now = self._clock()
        # A request needs room for itself; the smallest part of a second is rounding.
        too_early = self._free_at.get(client, now) + _MINUTE / per_minute - _MINUTE - now
        return max(0, math.ceil(round(too_early, 6)))

    def take(self, client: Hashable, per_minute: int) -> int:
        """Count a request if it may be sent now, and return 0; otherwise the seconds to wait."""
        with self._lock:
            if seconds := self.seconds_left(client, per_minute):
                return seconds
            now = self._clock()
            self._free_at[client] = max(now, self._free_at.get(client, now)) + _MINUTE / per_minute
            self._free_at.move_to_end(client)
            if len(self._free_at) > _MOST_CLIENTS:
                self._free_at.popitem(last=False)
            return 0

"""Wait where a server asks for it: rate limits, overload, a connection that broke."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from typing import Final

_TRANSIENT: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_FIRST, _LONGEST = 2.0, 60.0
"""Seconds of the first wait, doubled from time to time, and of the longest."""
_LONGEST_ASKED = 600.0
"""A server that asks for more is not waited for."""
_TRIES: Final = 8
_TRIES_WITHOUT_LIMIT: Final = 4
"""Of a request that no rate limit refuses: then something else is wrong."""
_SPENT = ("insufficient_quota", "billing_hard_limit_reached")
"""Codes of refusals that no waiting mends."""


def seconds_to_wait(error: BaseException, tries: int) -> float | None:
    """How long to wait before the same request is sent again; None when waiting does not help.

    Args:
        error: what a model's library raised; whatever has a `status_code` is a server's refusal.
        tries: how often the request was sent.
    """
    status = getattr(error, "status_code", None)
    if status is None:
        connection = _is_of_connection(error)
        return _doubled(tries) if connection and tries < _TRIES_WITHOUT_LIMIT else None
    if status not in _TRANSIENT or getattr(error, "code", None) in _SPENT:
        return None
    is_limit = status in (429, 529)
    if tries >= (_TRIES if is_limit else _TRIES_WITHOUT_LIMIT):
        return None
    asked = _asked_for(error)
    if asked is None:
        return _doubled(tries)
    return asked if asked <= _LONGEST_ASKED else None


def _doubled(tries: int) -> float:
    return min(_FIRST * 2.0 ** (tries - 1), _LONGEST)


def _is_of_connection(error: BaseException) -> bool:
    """Libraries have classes of their own for it, all of them named so."""
    return isinstance(error, ConnectionError | TimeoutError) or any(
        kind.__name__ in ("APIConnectionError", "APITimeoutError", "ConnectError", "ReadTimeout")
        for kind in type(error).__mro__
    )


def _asked_for(error: BaseException) -> float | None:
    """What the server's answer says in `Retry-After`, in seconds."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    try:
        seconds = float(headers["retry-after"]) if headers is not None else math.nan
    except (KeyError, TypeError, ValueError):
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


class Backoff:
    """What everybody who asks a server goes through, so that one refusal holds up all."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        tell: Callable[[float], None] = lambda _seconds: None,
    ) -> None:
        """It begins open.

        Args:
            clock: seconds that go on.
            sleep: how to wait.
            tell: is told of each time the gate is shut, and for how many seconds.
        """
        self._clock = clock
        self._sleep = sleep
        self._tell = tell
        self._open_at = -math.inf

    def shut(self, seconds: float) -> None:
        """Let nobody through for so long; a longer wait that was asked for before stays."""
        until = self._clock() + seconds
        if self._open_at <= self._clock() < until:
            self._tell(seconds)
        self._open_at = max(self._open_at, until)

    async def passed(self) -> None:
        """Wait until the gate is open."""
        while (left := self._open_at - self._clock()) > 0:
            await self._sleep(left)

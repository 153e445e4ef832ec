"""Backoff after rate limits, overload and broken connections."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from typing import Final

_TRANSIENT: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_FIRST, _LONGEST = 2.0, 60.0
"""Seconds of the first wait, which doubles with each try, and of the longest one."""
_LONGEST_RETRY_AFTER = 600.0
"""Seconds; a server that requests a longer wait counts as failed."""
_TRIES: Final = 8
_TRIES_WITHOUT_LIMIT: Final = 4
"""Tries of a request that fails for another reason than a rate limit."""
_SPENT = ("insufficient_quota", "billing_hard_limit_reached")
"""Error codes for which waiting does not help."""


def seconds_to_wait(error: BaseException, tries: int) -> float | None:
    """Seconds to wait before the request is sent again; None when waiting does not help.

    Args:
        error: the exception of a model's library; one with a `status_code` is a server's refusal.
        tries: how often the request was sent.
    """
    status = getattr(error, "status_code", None)
    if status is None:
        connection = _is_connection_error(error)
        return _doubled(tries) if connection and tries < _TRIES_WITHOUT_LIMIT else None
    if status not in _TRANSIENT or getattr(error, "code", None) in _SPENT:
        return None
    is_limit = status in (429, 529)
    if tries >= (_TRIES if is_limit else _TRIES_WITHOUT_LIMIT):
        return None
    requested = _retry_after(error)
    if requested is None:
        return _doubled(tries)
    return requested if requested <= _LONGEST_RETRY_AFTER else None


def _doubled(tries: int) -> float:
    return min(_FIRST * 2.0 ** (tries - 1), _LONGEST)


def _is_connection_error(error: BaseException) -> bool:
    """Whether the connection failed; libraries have their own classes with these names."""
    return isinstance(error, ConnectionError | TimeoutError) or any(
        kind.__name__ in ("APIConnectionError", "APITimeoutError", "ConnectError", "ReadTimeout")
        for kind in type(error).__mro__
    )


def _retry_after(error: BaseException) -> float | None:
    """The seconds in the response's `Retry-After-Ms` (OpenAI, Azure) or `Retry-After` header."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    if headers is None:
        return None
    milliseconds = _number(headers.get("retry-after-ms"))
    seconds = _number(headers.get("retry-after")) if milliseconds is None else milliseconds / 1000
    return None if seconds is None else max(0.0, seconds)


def _number(value: object) -> float | None:
    try:
        number = float(value)  # type: ignore[arg-type]  # anything else is caught
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


class Backoff:
    """A gate that all requests to a server pass, so that one refusal delays all of them."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        on_wait: Callable[[float], None] = lambda _seconds: None,
    ) -> None:
        """Start with an open gate.

        The clock is monotonic, in seconds; `on_wait` is called with the seconds of each wait.
        """
        self._clock = clock
        self._sleep = sleep
        self._on_wait = on_wait
        self._open_at = -math.inf

    def shut(self, seconds: float) -> None:
        """Close the gate for some seconds; an earlier request for a longer wait stays in force."""
        until = self._clock() + seconds
        if self._open_at <= self._clock() < until:
            self._on_wait(seconds)
        self._open_at = max(self._open_at, until)

    async def passed(self) -> None:
        """Wait until the gate is open."""
        while (left := self._open_at - self._clock()) > 0:
            await self._sleep(left)

"""Stored times: milliseconds since 1970 in UTC."""

import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - UTC, like all times here; faster without a zone
_MILLISECOND = timedelta(milliseconds=1)


def now() -> int:
    """The current time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def to_milliseconds(moment: str) -> int:
    """Convert ISO 8601 to milliseconds since 1970; a time without a zone is in UTC.

    Raises:
        ValueError: the text is not in ISO 8601 format.
    """
    found = datetime.fromisoformat(moment)
    return (
        (found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found) - _EPOCH
    ) // _MILLISECOND


def to_iso(milliseconds: int) -> str:
    """Convert milliseconds since 1970 to ISO 8601 in UTC."""
    day, rest = divmod(milliseconds, 86_400_000)
    minutes, rest = divmod(rest, 60_000)
    return f"{_day(day)}T{minutes // 60:02}:{minutes % 60:02}:{rest // 1000:02}.{rest % 1000:03}Z"


@lru_cache(maxsize=64)
def _day(number: int) -> str:
    return (_EPOCH + timedelta(days=number)).date().isoformat()

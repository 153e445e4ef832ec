"""The time formats of SillyTavern's versions."""

import re
from datetime import UTC, datetime

from rolellm_agents.transcript.times import to_iso, to_milliseconds

_AT = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2}) ?@(\d{1,2})h ?(\d{1,2})m ?(\d{1,2})s(?: ?(\d{1,3})ms)?")
_IN_WORDS = re.compile(r"([A-Z][a-z]+) (\d{1,2}), (\d{4}) (\d{1,2}):(\d{2}) ?([ap])m", re.IGNORECASE)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]


def iso_of(value: object) -> str | None:
    """Convert a time to ISO 8601 in UTC; None for an unknown format. Times without a zone count as UTC.

    Known formats are ISO 8601, milliseconds since 1970, `2023-06-19 @14h 20m 10s 123ms` and
    `June 19, 2023 2:20pm`.
    """
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return to_iso(int(value))
        if not isinstance(value, str):
            return None
        if value.isdecimal():
            return to_iso(int(value))
        if found := _AT.fullmatch(value.strip()):
            return to_iso(to_milliseconds(_at(found).isoformat()))
        if found := _IN_WORDS.fullmatch(value.strip()):
            return to_iso(to_milliseconds(_in_words(found).isoformat()))
        return to_iso(to_milliseconds(value))
    except (ValueError, OverflowError):
        return None


def _at(found: re.Match[str]) -> datetime:
    year, month, day, hour, minute, second, milliseconds = (int(part or 0) for part in found.groups())
    return datetime(year, month, day, hour, minute, second, milliseconds * 1000, UTC)


def _in_words(found: re.Match[str]) -> datetime:
    month, day, year, hour, minute, half = found.groups()
    hours = int(hour) % 12 + (12 if half.lower() == "p" else 0)
    return datetime(
        int(year), _MONTHS.index(month[:3].lower()) + 1, int(day), hours, int(minute), tzinfo=UTC
    )

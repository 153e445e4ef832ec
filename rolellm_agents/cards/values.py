"""Values out of strangers' JSON, as the types they should have had.

Cards in the wild hold numbers as text, lists as comma-separated text, and null where a text should be. What
can be understood is understood; everything else becomes the default. The JSON itself is kept beside it.
"""

import math
from collections.abc import Mapping
from typing import Any

Json = Any
"""A JSON value."""


def text(value: Json, default: str = "") -> str:
    """A text; a number or truth value as its text."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    return str(value)


def flag(value: Json, default: bool = False) -> bool:
    """A truth value; also “true”, 1 and their likes."""
    if isinstance(value, str):
        return value.strip().casefold() in ("true", "yes", "1", "on")
    return bool(value) if isinstance(value, bool | int | float) else default


def maybe_flag(value: Json) -> bool | None:
    """A truth value, or None where there is none."""
    return None if value is None else flag(value)


def number(value: Json, default: float = 0.0) -> float:
    """A finite number, also out of a text."""
    if isinstance(value, bool):
        return float(value)
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return default
    return found if math.isfinite(found) else default


def integer(value: Json, default: int = 0) -> int:
    """A whole number, also out of a text; cut to what a machine word holds."""
    return int(max(-(2**53), min(2**53, number(value, float(default)))))


def maybe_integer(value: Json) -> int | None:
    """A whole number, or None where there is none."""
    if value is None or value == "" or isinstance(value, bool):
        return None
    found = number(value, math.nan)
    return None if math.isnan(found) else integer(found)


def texts(value: Json) -> tuple[str, ...]:
    """A list of texts; also one text with commas."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, list | tuple):
        return tuple(found for item in value if (found := text(item)))
    return ()


def mapping(value: Json) -> Mapping[str, Json]:
    """An object; empty where there is none."""
    return value if isinstance(value, dict) else {}


def items(value: Json) -> tuple[Json, ...]:
    """A list; also an object's values, where somebody keyed a list by number."""
    if isinstance(value, dict):
        return tuple(value.values())
    return tuple(value) if isinstance(value, list | tuple) else ()


def texts_as_they_are(value: Json) -> tuple[str, ...]:
    """A list of texts, commas and all; also a single text."""
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(one for one in items(value) if isinstance(one, str))

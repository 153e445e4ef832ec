"""Convert values of untrusted JSON to their specified types.

Real cards have numbers as text, lists as comma-separated text, and null in place of texts. Values that
cannot be converted become the default.
"""

import math
from collections.abc import Mapping
from typing import Any

Json = Any
"""A JSON value."""


def text(value: Json, default: str = "") -> str:
    """A text; a number is converted."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    return str(value)


def flag(value: Json, default: bool = False) -> bool:
    """A Boolean, also from “true”, “yes”, 1 and similar values."""
    if isinstance(value, str):
        return value.strip().casefold() in ("true", "yes", "1", "on")
    return bool(value) if isinstance(value, bool | int | float) else default


def maybe_flag(value: Json) -> bool | None:
    """A Boolean, or None for null."""
    return None if value is None else flag(value)


def number(value: Json, default: float = 0.0) -> float:
    """A finite number, also from a text."""
    if isinstance(value, bool):
        return float(value)
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return default
    return found if math.isfinite(found) else default


def integer(value: Json, default: int = 0) -> int:
    """An integer, also from a text, limited to ±2⁵³."""
    return int(max(-(2**53), min(2**53, number(value, float(default)))))


def maybe_integer(value: Json) -> int | None:
    """An integer, or None for null and other values."""
    if value is None or value == "" or isinstance(value, bool):
        return None
    found = number(value, math.nan)
    return None if math.isnan(found) else integer(found)


def texts(value: Json) -> tuple[str, ...]:
    """A list of texts, also from one text with commas."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, list | tuple):
        return tuple(found for item in value if (found := text(item)))
    return ()


def mapping(value: Json) -> Mapping[str, Json]:
    """An object; empty for other values."""
    return value if isinstance(value, dict) else {}


def items(value: Json) -> tuple[Json, ...]:
    """A list, also from the values of an object with numbers as keys."""
    if isinstance(value, dict):
        return tuple(value.values())
    return tuple(value) if isinstance(value, list | tuple) else ()


def texts_as_they_are(value: Json) -> tuple[str, ...]:
    """A list of texts that may contain commas, also from a single text."""
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(item for item in items(value) if isinstance(item, str))

"""Format figures for reports."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

MISSING: Final = "–"

_COUNTS: Final = frozenset({"n", "missing", "roles", "n_clean"})


def short(value: float | None, sign: str = "") -> str:
    """Three decimal places, without a leading zero."""
    if value is None:
        return MISSING
    shown = f"{value:{sign}.3f}"
    return (
        shown.replace("0.", ".", 1) if abs(value) < 1 and not shown.lstrip("+-").startswith("1") else shown
    )


def bounds(ci95: Sequence[float] | None, sign: str = "") -> str:
    """Both bounds of an interval, or a dash."""
    return MISSING if ci95 is None else f"{short(ci95[0], sign)} to {short(ci95[1], sign)}"


def with_bounds(mean: float | None, ci95: Sequence[float] | None, sign: str = "") -> str:
    """A mean, followed by its interval if there is one."""
    return short(mean, sign) if ci95 is None else f"{short(mean, sign)} [{bounds(ci95, sign)}]"


def cell(name: str, value: Any) -> str:
    """Format a value of any column of `results.json`."""
    if value is None:
        return MISSING
    if isinstance(value, bool) or name in _COUNTS:
        return str(value)
    if isinstance(value, list):
        return bounds(value, "+" if "less_first" in name else "")
    if isinstance(value, int | float):
        return f"{value:,.1f}" if abs(value) >= 10 else short(value)
    return str(value)


def counted(number: int, what: str) -> str:
    """A number with its noun, as in “1 reply”, “2 replies”."""
    if number == 1:
        return f"1 {what}"
    return f"{number:,} {what[:-1]}ies" if what.endswith("y") else f"{number:,} {what}s"


def unscored(by_status: Mapping[str, int]) -> str:
    """The number of verdicts without a value, by status."""
    return ", ".join(f"{number} {status}" for status, number in sorted(by_status.items())) or "0"


def system_name(row: Mapping[str, Any]) -> str:
    """The display name of a system."""
    return f"{row['model']} · {row['strategy']}"


def distinct(names: Iterable[str]) -> list[str]:
    """The distinct names, in order of first occurrence."""
    return list(dict.fromkeys(names))

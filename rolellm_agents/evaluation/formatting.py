"""Rounded figures, and tables in Markdown."""

from collections.abc import Iterable, Sequence
from typing import Final

from rolellm_agents.metrics import Interval
from rolellm_agents.text import one_line

_DIGITS: Final = 4
_ESCAPED = str.maketrans({"|": "\\|", "\\": "\\\\"})


def rounded(value: float | None) -> float | None:
    """A value rounded to four places; None stays None."""
    return None if value is None else round(value, _DIGITS)


def mean_of(interval: Interval | None) -> float | None:
    """The rounded mean of an interval."""
    return None if interval is None else rounded(interval.mean)


def bounds(interval: Interval | None) -> list[float] | None:
    """The rounded bounds of an interval; None without bounds."""
    if interval is None or interval.low is None or interval.high is None:
        return None
    return [round(interval.low, _DIGITS), round(interval.high, _DIGITS)]


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1) -> str:
    """A table with escaped cells.

    `words` is the number of left-aligned text columns; the others are right-aligned figures.
    """
    marks = ["---" if place < words else "---:" for place in range(len(columns))]
    lines = [columns, marks, *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(text: str) -> str:
    return one_line(text).translate(_ESCAPED)

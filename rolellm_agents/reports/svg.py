"""Marks of static pictures: lines, text and the shapes that tell systems apart, as SVG.

Colours are classes and not values, so that the page's style sheet decides for light, dark and paper.
"""

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final, NamedTuple

from rolellm_agents.reports.content import SYSTEMS_TOLD_APART
from rolellm_agents.text import one_line

WIDTH: Final = 356
"""Of every picture, in pixels: as wide as a telephone; elsewhere several stand side by side."""
TEXT: Final = 11
_LETTER: Final = 6.3
"""How wide a letter is in the mean; Chinese ones take two."""
_TICKS: Final = 4
_RADIUS: Final = 4.0


class Scale(NamedTuple):
    """From values to places."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The place of a value; outside ones stand at the edge."""
        part = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)

    @property
    def ticks(self) -> list[float]:
        """Round values within."""
        step = _round_step((self.high - self.low) / _TICKS)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(number * step, 10) for number in range(first, last + 1)]


def scale_for(values: Iterable[float], start: float, end: float, *, include: Sequence[float] = ()) -> Scale:
    """A scale that has room for all values, with ends that are round.

    Args:
        values: finite ones.
        start: the place of the lowest.
        end: the place of the highest.
        include: values that it must have room for as well, such as 0.
    """
    known = [*values, *include] or [0.0, 1.0]
    low, high = min(known), max(known)
    if low == high:
        low, high = low - 0.5, high + 0.5
    step = _round_step((high - low) / _TICKS)
    return Scale(math.floor(low / step) * step, math.ceil(high / step) * step, start, end)


def picture(height: float, marks: Iterable[str], alt: str) -> str:
    """The element, with what it shows in words for those who do not see it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'width="{WIDTH}" height="{height:.0f}" role="img" aria-label="{escape(one_line(alt))}">'
        f"<title>{escape(one_line(alt))}</title>{''.join(marks)}</svg>"
    )


def text(x: float, y: float, words: str, *, anchor: str = "start", kind: str = "label") -> str:
    """A line of text that stands on `y`."""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} class="{kind}">{escape(one_line(words))}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def path(points: Sequence[tuple[float, float]], kind: str, *, closed: bool = False) -> str:
    """A line through points."""
    told = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<{"polygon" if closed else "polyline"} points="{told}" class="{kind}"/>'


def mark(x: float, y: float, system: int, words: str = "", *, size: float = _RADIUS) -> str:
    """The shape of a system; `words` are shown to who points at it."""
    number = system % SYSTEMS_TOLD_APART
    title = f"<title>{escape(one_line(words))}</title>" if words else ""
    corners = _CORNERS[number]
    if not corners:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}" class="mark s{number}">{title}</circle>'
    told = " ".join(f"{x + size * dx:.1f},{y + size * dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{told}" class="mark s{number}">{title}</polygon>'


def stroke(system: int) -> str:
    """The class of a system's lines."""
    return f"stroke s{system % SYSTEMS_TOLD_APART}"


def legend_mark(system: int) -> str:
    """A system's shape alone, for a legend in the page."""
    return (
        f'<svg class="key" viewBox="0 0 14 14" width="14" height="14" aria-hidden="true">'
        f"{mark(7, 7, system, size=5)}</svg>"
    )


def fitting(words: str, width: float) -> str:
    """As much of a text as fits."""
    room = width / _LETTER
    shown = ""
    for character in (words := one_line(words)):
        room -= 2 if ord(character) > 0x2E7F else 1
        if room < 0:
            return f"{shown[:-1].rstrip()}…"
        shown += character
    return words


def tick_label(value: float) -> str:
    """A value on an axis."""
    return f"{value:,.0f}" if abs(value) >= 10 or value == round(value) else f"{value:.3g}"


def _round_step(least: float) -> float:
    power: float = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= least * 0.999)


_CORNERS: Final[Sequence[Sequence[tuple[float, float]]]] = (
    (),  # a circle
    ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
    ((0, -1.2), (1.15, 0.9), (-1.15, 0.9)),
    ((0, 1.2), (1.15, -0.9), (-1.15, -0.9)),
    ((-0.45, -1.2), (0.45, -1.2), (0.45, 1.2), (-0.45, 1.2)),
)

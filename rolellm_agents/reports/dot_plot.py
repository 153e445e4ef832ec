"""A dot plot: a line of the picture for each thing, a mark for each system, with its interval."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from rolellm_agents.reports import svg
from rolellm_agents.reports.content import Panel

_LABELS: Final = 122
_EDGE: Final = 14
_TOP, _BOTTOM = 6, 34
_PER_MARK: Final = 11
_PER_LABEL: Final = 13
_BETWEEN: Final = 8


class Dot(NamedTuple):
    """A system's figure for one thing."""

    system: int
    """Its place among the systems, which decides its colour and its shape."""
    mean: float
    ci95: Sequence[float] | None
    words: str
    """What is shown to who points at it."""


class PlotRow(NamedTuple):
    """One thing and the figures for it."""

    label: str
    """A second line of it stands behind an end of line."""
    dots: Sequence[Dot]


def dot_plot(
    lines: Sequence[PlotRow], *, title: str, axis: str, alt: str, include: Sequence[float] = (0.0,)
) -> Panel:
    """Draw it.

    Args:
        lines: from above to below.
        title: of the panel.
        axis: what the figures are.
        alt: what the picture shows, in a sentence.
        include: values that the axis must have room for; 0 has a line of its own.
    """
    known = [value for one in lines for dot in one.dots for value in (dot.mean, *(dot.ci95 or ()))]
    scale = svg.scale_for(known, _LABELS, svg.WIDTH - _EDGE, include=include)
    floor = _TOP + sum(_height(one) for one in lines)
    return Panel(
        svg=svg.picture(floor + _BOTTOM, _marks(lines, scale, floor, axis), alt), title=title, alt=alt
    )


def _marks(lines: Sequence[PlotRow], scale: svg.Scale, floor: float, axis: str) -> Iterator[str]:
    for tick in scale.ticks:
        x = scale.at(tick)
        yield svg.line(x, _TOP, x, floor, "zero" if tick == 0 else "grid")
        yield svg.text(x, floor + svg.TEXT + 3, svg.tick_label(tick), anchor="middle", kind="tick")
    yield svg.text((scale.start + scale.end) / 2, floor + 2 * svg.TEXT + 7, axis, anchor="middle")
    top: float = _TOP
    for one in lines:
        height = _height(one)
        middle = top + height / 2
        yield from _label(one.label, middle)
        first = middle - (len(one.dots) - 1) * _PER_MARK / 2
        for number, dot in enumerate(one.dots):
            yield from _dot(dot, scale, first + number * _PER_MARK)
        top += height
        yield svg.line(0, top, svg.WIDTH, top, "grid")


def _label(label: str, middle: float) -> Iterator[str]:
    parts = label.split("\n")
    first = middle - (len(parts) - 1) * _PER_LABEL / 2 + svg.TEXT / 3
    for number, part in enumerate(parts):
        shown = svg.fitting(part, _LABELS - 8)
        yield svg.text(_LABELS - 8, first + number * _PER_LABEL, shown, anchor="end")


def _dot(dot: Dot, scale: svg.Scale, y: float) -> Iterator[str]:
    if dot.ci95 is not None:
        yield svg.line(scale.at(dot.ci95[0]), y, scale.at(dot.ci95[1]), y, svg.stroke(dot.system))
    yield svg.mark(scale.at(dot.mean), y, dot.system, dot.words)


def _height(one: PlotRow) -> float:
    return max(len(one.dots) * _PER_MARK, len(one.label.split("\n")) * _PER_LABEL) + _BETWEEN

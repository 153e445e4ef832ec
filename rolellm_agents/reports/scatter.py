"""A scatter plot with the course of the means through it."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from rolellm_agents.reports import svg
from rolellm_agents.reports.content import Panel

_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 10, 8, 38
_HEIGHT: Final = 250


class Point(NamedTuple):
    """Where something stands."""

    x: float
    y: float
    system: int
    words: str


def scatter(
    points: Sequence[Point],
    course: Sequence[tuple[float, float]],
    *,
    title: str,
    axes: tuple[str, str],
    alt: str,
    highest: float | None = None,
) -> Panel:
    """Draw it.

    Args:
        points: what is shown.
        course: a line through it, from left to right; fewer than two places draw none.
        title: of the panel.
        axes: what lies along the horizontal and the vertical axis.
        alt: what the picture shows, in a sentence.
        highest: what the vertical axis must have room for, so that panels compare.
    """
    across = svg.scale_for([*(one.x for one in points), *(x for x, _ in course)], _LEFT, svg.WIDTH - _RIGHT)
    upwards = svg.scale_for(
        [*(one.y for one in points), *(y for _, y in course)],
        _HEIGHT - _BOTTOM,
        _TOP,
        include=(0.0,) if highest is None else (0.0, highest),
    )
    marks = _marks(points, course, across, upwards, axes)
    return Panel(svg=svg.picture(_HEIGHT, marks, alt), title=title, alt=alt)


def _marks(
    points: Sequence[Point],
    course: Sequence[tuple[float, float]],
    across: svg.Scale,
    upwards: svg.Scale,
    axes: tuple[str, str],
) -> Iterator[str]:
    yield from frame(across, upwards, axes)
    for one in points:
        yield svg.mark(across.at(one.x), upwards.at(one.y), one.system, one.words, size=3)
    if len(course) > 1:
        yield svg.path([(across.at(x), upwards.at(y)) for x, y in course], "course")


def frame(
    across: svg.Scale, upwards: svg.Scale, axes: tuple[str, str], *, places: Sequence[float] | None = None
) -> Iterator[str]:
    """Both axes with their ticks.

    Args:
        across: the horizontal one.
        upwards: the vertical one.
        axes: what they are; an empty one is told by the panel's title.
        places: where the horizontal one has its ticks, if not at round values.
    """
    for tick in upwards.ticks:
        y = upwards.at(tick)
        yield svg.line(across.start, y, across.end, y, "zero" if tick == 0 else "grid")
        yield svg.text(across.start - 5, y + svg.TEXT / 3, svg.tick_label(tick), anchor="end", kind="tick")
    for tick in across.ticks if places is None else places:
        yield svg.text(
            across.at(tick),
            upwards.start + svg.TEXT + 4,
            svg.tick_label(tick),
            anchor="middle",
            kind="tick",
        )
    middle = (across.start + across.end) / 2
    named = [f"{axis} {arrow}" for axis, arrow in zip(axes, "→↑", strict=True) if axis]
    yield svg.text(middle, upwards.start + 2 * svg.TEXT + 9, " · ".join(named), anchor="middle")

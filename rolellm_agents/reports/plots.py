"""The plots of a report: dot plots with intervals, scatter plots, and line plots over turns."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from unicodedata import east_asian_width

from rolellm_agents.files.pictures import LIGHT, can_draw, svg_picture
from rolellm_agents.reports.content import Panel
from rolellm_agents.text import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH: Final = 356
"""Width of every picture in pixels, which fits a phone; wider screens show several side by side."""
_LABEL_COLUMNS, _LINE_COLUMNS = 20, 56
_MOST_TICKS: Final = 20
"""More turns are not labelled one by one."""
_MARKERS: Final = "osD^vX"
"""Each system has a marker and a colour; they repeat from the seventh system on."""


class Dot(NamedTuple):
    """The mean and interval of one system."""

    system: int
    """Index among the systems, which determines the colour and the marker."""
    mean: float
    ci95: Sequence[float] | None


class PlotRow(NamedTuple):
    """A row of a dot plot."""

    label: str
    """The label, which may contain a line break."""
    dots: Sequence[Dot]


class Point(NamedTuple):
    """A marker of a system in a scatter plot."""

    x: float
    y: float
    system: int


class TurnMean(NamedTuple):
    """The mean and interval of one system at one turn."""

    turn: int
    mean: float
    ci95: Sequence[float] | None


def dot_plot(
    rows: Sequence[PlotRow],
    systems: Sequence[str],
    *,
    title: str,
    axis: str,
    alt: str,
    include: Sequence[float] = (0.0,),
) -> Panel:
    """Draw rows with a marker and an interval for each system.

    The rows go from top to bottom. A single system has no legend. The axis includes the values of
    `include`; a line marks 0.
    """

    def draw(axes: "Axes") -> None:
        top, ticks, labels = 0.0, [], []
        for row in rows:
            middle = top + _lines(row) / 2
            for number, dot in enumerate(row.dots):
                y = middle + number - (len(row.dots) - 1) / 2
                if dot.ci95 is not None:
                    axes.plot(dot.ci95, (y, y), color=_colour(dot.system), linewidth=1.5)
                axes.plot(dot.mean, y, **_mark(dot.system))
            ticks.append(middle)
            labels.append("\n".join(_fitting(part, _LABEL_COLUMNS) for part in row.label.split("\n")))
            top += _lines(row)
        axes.plot(include, [0] * len(include), linestyle="")
        axes.axvline(0, color=LIGHT["soft"], linewidth=1, zorder=1)
        axes.set_yticks(ticks, labels)
        axes.grid(visible=False, axis="y")
        axes.set(xlabel=axis, ylim=(top, 0))

    return _panel(draw, 50 + 12 * sum(map(_lines, rows)), title, alt, systems)


def scatter(
    points: Sequence[Point],
    course: Sequence[tuple[float, float]],
    systems: Sequence[str],
    *,
    title: str,
    axes: tuple[str, str],
    alt: str,
    highest: float,
) -> Panel:
    """Draw a scatter plot with a trend line.

    A single system has no legend. The trend line is not drawn with fewer than two points. `highest` is a
    value that the vertical axis must include, so that panels have the same scale.
    """

    def draw(area: "Axes") -> None:
        for one in points:
            area.plot(one.x, one.y, **_mark(one.system, size=5))
        if len(course) > 1:
            area.plot(*zip(*course, strict=True), "--", color=LIGHT["ink"], linewidth=1.5)
        area.set(xlabel=axes[0], ylabel=axes[1], ylim=(-0.03 * highest, 1.05 * highest or 1))

    return _panel(draw, 220, title, alt, systems)


def turn_plot(
    turns: Sequence[Sequence[TurnMean]], systems: Sequence[str], *, title: str, alt: str
) -> Panel:
    """Draw a measure over the turns: a line for each system, with bars for the intervals.

    A system without means is not drawn but keeps its colour; a single system has no legend. The title names
    the measure.
    """

    def draw(axes: "Axes") -> None:
        for number, means in enumerate(turns):
            aside = (number - (len(turns) - 1) / 2) * 0.08  # so that two bars do not cover each other
            for one in means:
                if one.ci95 is not None:
                    axes.plot([one.turn + aside] * 2, one.ci95, color=_colour(number), linewidth=1.5)
            places = [one.turn + aside for one in means]
            axes.plot(places, [one.mean for one in means], linewidth=1.2, **_mark(number))
        axes.plot([1, 2], [0, 0], linestyle="")  # room for two turns and for 0
        ticks = sorted({one.turn for means in turns for one in means} or {1})
        if len(ticks) <= _MOST_TICKS:
            axes.set_xticks(ticks)
        axes.grid(visible=False, axis="x")
        axes.set_xlabel("turn")

    return _panel(draw, 180, title, alt, systems)


def _panel(
    draw: "Callable[[Axes], None]", height: float, title: str, alt: str, systems: Sequence[str]
) -> Panel:
    """Draw a picture with its title and legend; without matplotlib, the panel has only its `alt`."""
    names = [_fitting(name, _LINE_COLUMNS) for name in systems] if len(systems) > 1 else []

    def whole(figure: "Figure") -> None:
        from matplotlib.lines import Line2D

        marks = [
            Line2D([], [], linestyle="", label=name, **_mark(number)) for number, name in enumerate(names)
        ]
        figure.legend(
            handles=marks,
            title=_fitting(title, _LINE_COLUMNS),
            title_fontproperties={"weight": "bold", "size": 9},
            alignment="left",
            loc="outside upper left",
        )
        draw(figure.add_subplot())

    height += 24 + 16 * len(names)
    return Panel(svg=svg_picture(whole, _WIDTH, height, one_line(alt)) if can_draw() else "", alt=alt)


def _mark(system: int, *, size: float = 6) -> dict[str, Any]:
    return {
        "color": _colour(system),
        "marker": _MARKERS[system % len(_MARKERS)],
        "markersize": size,
        "markeredgecolor": LIGHT["paper"],
        "markeredgewidth": 0.7,
    }


def _colour(system: int) -> str:
    return LIGHT[f"s{system % len(_MARKERS)}"]


def _lines(row: PlotRow) -> float:
    """The height of a row, in markers."""
    return max(len(row.dots), len(row.label.split("\n"))) + 0.8


def _fitting(words: str, columns: int) -> str:
    """Fit a text on one line by removing its middle; Chinese characters take two columns."""
    words = one_line(words)
    while sum(1 + (east_asian_width(character) in "WF") for character in words) > columns:
        middle = len(words) // 2
        words = f"{words[: middle - 1].rstrip()}…{words[middle + 1 :].lstrip('…')}"
    return words

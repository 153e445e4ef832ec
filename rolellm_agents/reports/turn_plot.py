"""How something goes on from turn to turn: a line for each system, with bars for the intervals."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from rolellm_agents.reports import svg
from rolellm_agents.reports.content import Panel
from rolellm_agents.reports.scatter import frame

_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 14, 8, 38
_HEIGHT: Final = 210
_ASIDE: Final = 3.0
"""How far the marks of two systems stand apart, so that their bars do not cover each other."""


class At(NamedTuple):
    """A system's figure at a turn."""

    turn: int
    mean: float
    ci95: Sequence[float] | None
    words: str


def turn_plot(systems: Sequence[Sequence[At]], *, title: str, alt: str) -> Panel:
    """Draw it.

    Args:
        systems: each one's figures, by turn; one without any is left out and keeps its colour.
        title: of the panel, which says what the figures are.
        alt: what the picture shows, in a sentence.
    """
    every = [at for one in systems for at in one]
    last = max((at.turn for at in every), default=1)
    across = svg.Scale(0.5, max(last, 2) + 0.5, _LEFT, svg.WIDTH - _RIGHT)
    upwards = svg.scale_for(
        [value for at in every for value in (at.mean, *(at.ci95 or ()))],
        _HEIGHT - _BOTTOM,
        _TOP,
        include=(0.0,),
    )
    return Panel(
        svg=svg.picture(_HEIGHT, _marks(systems, across, upwards), alt),
        title=title,
        alt=alt,
    )


def _marks(systems: Sequence[Sequence[At]], across: svg.Scale, upwards: svg.Scale) -> Iterator[str]:
    turns = sorted({float(at.turn) for one in systems for at in one})
    yield from frame(across, upwards, ("turn", ""), places=turns)
    for number, one in enumerate(systems):
        aside = (number - (len(systems) - 1) / 2) * _ASIDE
        places = [(across.at(at.turn) + aside, upwards.at(at.mean)) for at in one]
        for at, (x, _) in zip(one, places, strict=True):
            if at.ci95 is not None:
                yield svg.line(x, upwards.at(at.ci95[0]), x, upwards.at(at.ci95[1]), svg.stroke(number))
        yield svg.path(places, f"through {svg.stroke(number)}")
        for at, (x, y) in zip(one, places, strict=True):
            yield svg.mark(x, y, number, at.words)

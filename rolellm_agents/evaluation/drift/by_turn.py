"""How marks go on by turn: means with intervals, and slopes over the turns of an interview."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rolellm_agents.metrics import Interval, mean_interval

_DIGITS = 4


class MeasuredConversation(NamedTuple):
    """One interview, measured."""

    persona: str
    number: int
    marks: Sequence[Mapping[str, float]]
    """Of each turn."""
    rotates: Sequence[bool]
    """Of each turn, whether its question stands elsewhere in other interviews."""


@dataclass(frozen=True, kw_only=True)
class TurnFigure:
    """A mark at a turn, over all interviews."""

    measure: str
    turn: int
    """Line number, from 1."""
    interval: Interval

    def to_json(self) -> dict[str, Any]:
        """Convert to JSON values."""
        return {"measure": self.measure, "turn": self.turn, **interval_to_json(self.interval)}


@dataclass(frozen=True, kw_only=True)
class Slope:
    """By how much a mark changes from one turn to the next, in the mean of the interviews."""

    measure: str
    interval: Interval

    def to_json(self) -> dict[str, Any]:
        """Convert to JSON values."""
        return {"measure": self.measure, **interval_to_json(self.interval)}


def turn_figures(interviews: Sequence[MeasuredConversation]) -> list[TurnFigure]:
    """The mean of each mark at each turn; intervals draw personas, or interviews of a single one."""
    values: dict[tuple[str, int], list[tuple[MeasuredConversation, float]]] = defaultdict(list)
    for one in interviews:
        for turn, marks in enumerate(one.marks, 1):
            for measure, value in marks.items():
                values[measure, turn].append((one, value))
    return [
        TurnFigure(measure=measure, turn=turn, interval=_interval(held))
        for (measure, turn), held in sorted(values.items())
    ]


def slopes_of(interviews: Sequence[MeasuredConversation]) -> list[Slope]:
    """The slope of each mark: fitted to each interview by least squares, then averaged.

    Only turns whose questions stand elsewhere in other interviews count, where there are such: at the
    others it would be the question that makes the difference.
    """
    slopes: dict[str, list[tuple[MeasuredConversation, float]]] = defaultdict(list)
    for one in interviews:
        counted = [turn for turn, rotates in enumerate(one.rotates) if rotates] or range(len(one.marks))
        for measure in sorted({name for marks in one.marks for name in marks}):
            places = [(turn, one.marks[turn][measure]) for turn in counted if measure in one.marks[turn]]
            if len(places) > 1:
                slopes[measure].append((one, _slope(places)))
    return [Slope(measure=measure, interval=_interval(held)) for measure, held in sorted(slopes.items())]


def interval_to_json(interval: Interval) -> dict[str, Any]:
    """Mean, bounds and number."""
    known = interval.low is not None and interval.high is not None
    return {
        "mean": round(interval.mean, _DIGITS),
        "ci95": [round(interval.low or 0.0, _DIGITS), round(interval.high or 0.0, _DIGITS)]
        if known
        else None,
        "n": interval.n,
    }


def _interval(held: Iterable[tuple[MeasuredConversation, float]]) -> Interval:
    told = list(held)
    personas = [one.persona for one, _ in told]
    alone = len(set(personas)) == 1
    clusters = [str(one.number) for one, _ in told] if alone else personas
    return mean_interval([value for _, value in told], clusters, resamples=2_000)


def _slope(places: Sequence[tuple[float, float]]) -> float:
    middle = sum(x for x, _ in places) / len(places)
    mean = sum(y for _, y in places) / len(places)
    spread = sum((x - middle) ** 2 for x, _ in places)
    return sum((x - middle) * (y - mean) for x, y in places) / spread

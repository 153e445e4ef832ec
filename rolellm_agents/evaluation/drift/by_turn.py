"""Marks by turn: means with intervals, and slopes over the turns of an interview."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rolellm_agents.metrics import Interval, mean_interval

_DIGITS = 4


class MeasuredConversation(NamedTuple):
    """The marks of one interview."""

    persona: str
    number: int
    marks: Sequence[Mapping[str, float]]
    """The marks of each turn."""
    rotates: Sequence[bool]
    """For each turn, whether other interviews ask its question at another turn."""


@dataclass(frozen=True, kw_only=True)
class TurnFigure:
    """The mean of a mark at one turn, over all interviews."""

    measure: str
    turn: int
    """Turn number, from 1."""
    interval: Interval

    def to_json(self) -> dict[str, Any]:
        """Convert to JSON values."""
        return {"measure": self.measure, "turn": self.turn, **interval_to_json(self.interval)}


@dataclass(frozen=True, kw_only=True)
class Slope:
    """The mean change of a mark from one turn to the next, over all interviews."""

    measure: str
    interval: Interval

    def to_json(self) -> dict[str, Any]:
        """Convert to JSON values."""
        return {"measure": self.measure, **interval_to_json(self.interval)}


def turn_figures(interviews: Sequence[MeasuredConversation]) -> list[TurnFigure]:
    """The mean of each mark at each turn.

    Intervals are clustered by persona, or by interview when there is a single persona.
    """
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
    """The slope of each mark, fitted to each interview by least squares and then averaged.

    Only turns whose questions rotate between interviews count, if there are any: at the other turns the
    question itself could cause the difference.
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
    """Convert an interval to JSON values: mean, bounds and number of items."""
    known = interval.low is not None and interval.high is not None
    return {
        "mean": round(interval.mean, _DIGITS),
        "ci95": [round(interval.low or 0.0, _DIGITS), round(interval.high or 0.0, _DIGITS)]
        if known
        else None,
        "n": interval.n,
    }


def _interval(held: Iterable[tuple[MeasuredConversation, float]]) -> Interval:
    values = list(held)
    personas = [one.persona for one, _ in values]
    alone = len(set(personas)) == 1
    clusters = [str(one.number) for one, _ in values] if alone else personas
    return mean_interval([value for _, value in values], clusters, resamples=2_000)


def _slope(places: Sequence[tuple[float, float]]) -> float:
    middle = sum(x for x, _ in places) / len(places)
    mean = sum(y for _, y in places) / len(places)
    spread = sum((x - middle) ** 2 for x, _ in places)
    return sum((x - middle) * (y - mean) for x, y in places) / spread

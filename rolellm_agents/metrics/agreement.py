"""How far several raters agree: Krippendorff's alpha (Computing Krippendorff's Alpha-Reliability, 2011).

Written here since the package on PyPI is under the GPL, which this one's users could not take on.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Final, Literal

Level = Literal["nominal", "ordinal", "interval"]
"""Whether ratings are only alike or not, or also in an order, or also apart by so much."""

_Distance = Callable[[float, float], float]


def krippendorff_alpha(ratings: Sequence[Sequence[float | None]], level: Level) -> float | None:
    """How much less raters disagree than by chance.

    Args:
        ratings: for each thing that was rated its ratings, in any order; None and absent ones are missing.
        level: how far apart two ratings are.

    Returns:
        1 when all agree, 0 when they do as by chance, less than 0 when they do less; None when there is
        nothing to tell it by: no two ratings of one thing, or all of them the same.
    """
    units = [
        Counter(known) for unit in ratings if len(known := [one for one in unit if one is not None]) > 1
    ]
    total: Counter[float] = sum(units, Counter())
    distance = _DISTANCES[level](total)
    expected = _disagreement(total, distance)
    if not expected:
        return None
    observed = sum(_disagreement(unit, distance) / (unit.total() - 1) for unit in units)
    return 1 - (total.total() - 1) * observed / expected


def _disagreement(counts: Counter[float], distance: _Distance) -> float:
    """Summed over all pairs of these ratings."""
    return sum(
        counts[one] * counts[other] * distance(one, other) for one, other in combinations(sorted(counts), 2)
    )


def _nominal(_counts: Counter[float]) -> _Distance:
    return lambda _one, _other: 1.0


def _ordinal(counts: Counter[float]) -> _Distance:
    """The squared number of ratings between two, their own counted half."""
    middles = dict(zip(sorted(counts), _middles(counts[rating] for rating in sorted(counts)), strict=True))
    return lambda one, other: (middles[one] - middles[other]) ** 2


def _interval(_counts: Counter[float]) -> _Distance:
    return lambda one, other: (one - other) ** 2


def _middles(counts: Iterable[int]) -> list[float]:
    middles, below = [], 0
    for count in counts:
        middles.append(below + count / 2)
        below += count
    return middles


_DISTANCES: Final[dict[Level, Callable[[Counter[float]], _Distance]]] = {
    "nominal": _nominal,
    "ordinal": _ordinal,
    "interval": _interval,
}

"""Agreement of raters: Krippendorff's alpha (Computing Krippendorff's Alpha-Reliability, 2011).

Implemented here because the package on PyPI is licensed under the GPL.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Final, Literal

Level = Literal["nominal", "ordinal", "interval"]
"""The level of measurement of ratings: unordered categories, an order, or an order with distances."""

_Distance = Callable[[float, float], float]


def krippendorff_alpha(ratings: Sequence[Sequence[float | None]], level: Level) -> float | None:
    """Krippendorff's alpha: how much less raters disagree than by chance.

    Args:
        ratings: the ratings of each unit, in any order; None is a missing rating.
        level: the level of measurement, which defines the distance between two ratings.

    Returns:
        1 for perfect agreement, 0 for agreement by chance, less than 0 for less agreement than by chance;
        None when alpha is undefined: no unit has two ratings, or all ratings are equal.
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
    """The distances summed over all pairs of these ratings."""
    return sum(
        counts[one] * counts[other] * distance(one, other) for one, other in combinations(sorted(counts), 2)
    )


def _nominal(_counts: Counter[float]) -> _Distance:
    return lambda _one, _other: 1.0


def _ordinal(counts: Counter[float]) -> _Distance:
    """The squared number of ratings between two values, where the two values themselves count half."""
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

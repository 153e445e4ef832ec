"""Agreement of raters: Krippendorff's alpha (Computing Krippendorff's Alpha-Reliability, 2011).

Implemented here because the package on PyPI is licensed under the GPL.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Final, Literal

Level = Literal["nominal", "ordinal", "interval"]
"""The level of measurement of ratings: unordered categories, an order, or an order with distances."""

_Disagreement = Callable[[Counter[float]], float]
"""The distances between ratings, summed over all pairs of these ratings."""


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
    if len(total) < 2:
        return None
    disagreement = _DISAGREEMENTS[level](total)
    observed = sum(disagreement(unit) / (unit.total() - 1) for unit in units)
    return 1 - (total.total() - 1) * observed / disagreement(total)


def _nominal(_total: Counter[float]) -> _Disagreement:
    return lambda counts: float(sum(counts[one] * counts[other] for one, other in combinations(counts, 2)))


def _ordinal(total: Counter[float]) -> _Disagreement:
    """The squared number of ratings between two values, where the two values themselves count half."""
    values = sorted(total)
    middles = dict(zip(values, _middles(total[value] for value in values), strict=True))
    return lambda counts: _squared_differences([(middles[value], counts[value]) for value in counts])


def _interval(_total: Counter[float]) -> _Disagreement:
    return lambda counts: _squared_differences([*counts.items()])


def _squared_differences(points: Sequence[tuple[float, int]]) -> float:
    """The sum of squared differences over all pairs of points that occur this often.

    It is computed from the sums of the points and of their squares, since a sum over all pairs takes
    minutes when an interval is drawn from a thousand resamples.
    """
    number = sum(times for _, times in points)
    mean = math.fsum(point * times for point, times in points) / number
    return number * math.fsum(times * (point - mean) ** 2 for point, times in points)


def _middles(counts: Iterable[int]) -> list[float]:
    middles, below = [], 0
    for count in counts:
        middles.append(below + count / 2)
        below += count
    return middles


_DISAGREEMENTS: Final[dict[Level, Callable[[Counter[float]], _Disagreement]]] = {
    "nominal": _nominal,
    "ordinal": _ordinal,
    "interval": _interval,
}

"""How sure a mean is: percentile bootstrap intervals, resampled by cluster (Efron; Field and Welsh, 2007).

Replies of one persona are more alike than replies of two, so whole personas are drawn, not single replies;
drawing replies would make intervals too narrow.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESAMPLES = 10_000
SAMPLED_AT_ONCE = 1_000_000
"""Clusters, so that memory stays small however many items there are."""


@dataclass(frozen=True)
class Interval:
    """A mean and where the true one may lie.

    `low` and `high` are None when all items are of one cluster: nothing then says how another cluster would
    do. With fewer than ten or so clusters the interval is too narrow, as every bootstrap is.
    """

    mean: float
    low: float | None
    high: float | None
    n: int
    """How many items the mean is of."""


def mean_interval(
    values: Sequence[float],
    clusters: Sequence[str],
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """The mean of `values`, with a percentile bootstrap interval.

    Args:
        values: one finite score for each item.
        clusters: for each item what it was drawn with, such as the persona that replied.
        confidence: the part of intervals that hold the true mean, between 0 and 1.
        resamples: how often as many clusters as there are are drawn, with replacement.
        seed: seed of the random choices. The same items give the same interval, in any order.

    Raises:
        ValueError: there is no value, one is not finite, or there are not as many clusters.
    """
    groups = values_by_cluster(values, clusters)
    mean = math.fsum(values) / len(values)
    if len(groups) == 1:
        return Interval(mean, None, None, len(values))

    import numpy as np

    means = means_of_resamples(groups, resamples, seed)
    outside = (1 - confidence) / 2
    low, high = np.quantile(means, [outside, 1 - outside])
    return Interval(mean, float(low), float(high), len(values))


def difference_interval(
    first: Sequence[float],
    second: Sequence[float],
    clusters: Sequence[str],
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """By how much `first` scores higher than `second` on the same items, in the mean.

    An interval that lies to one side of 0 says that the two differ. Pairing takes out how hard the items
    are, so it tells smaller differences apart than two intervals laid side by side.

    Args:
        first: one score for each item.
        second: the other system's scores on the same items, in the same order.
        clusters: for each item what it was drawn with, as in `mean_interval`.
        confidence: the part of intervals that hold the true difference, between 0 and 1.
        resamples: how often as many clusters as there are are drawn, with replacement.
        seed: seed of the random choices.

    Raises:
        ValueError: as in `mean_interval`, or one system has more scores than the other.
    """
    differences = [one - other for one, other in zip(first, second, strict=True)]
    return mean_interval(differences, clusters, confidence=confidence, resamples=resamples, seed=seed)


def values_by_cluster(values: Sequence[float], clusters: Sequence[str]) -> list[list[float]]:
    """The values of each cluster, in the order of the clusters' names.

    Raises:
        ValueError: there is no value, one is not finite, or there are not as many clusters.
    """
    if not values:
        raise ValueError("there are no values")
    if not all(map(math.isfinite, values)):
        raise ValueError("a value is not finite")
    by_cluster: defaultdict[str, list[float]] = defaultdict(list)
    for value, cluster in zip(values, clusters, strict=True):
        by_cluster[cluster].append(value)
    return [by_cluster[name] for name in sorted(by_cluster)]


def means_of_resamples(groups: Sequence[Sequence[float]], resamples: int, seed: int) -> "NDArray[Any]":
    """The mean of all values of the clusters drawn, for each of `resamples` draws of as many clusters."""
    import numpy as np

    sums = np.array([math.fsum(group) for group in groups])
    sizes = np.array([len(group) for group in groups])
    random = np.random.default_rng(seed)
    at_once = max(1, SAMPLED_AT_ONCE // len(groups))
    means = []
    for begun in range(0, resamples, at_once):
        drawn = random.integers(len(groups), size=(min(at_once, resamples - begun), len(groups)))
        means.append(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1))
    return np.concatenate(means)

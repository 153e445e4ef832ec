"""Confidence intervals of means: the percentile cluster bootstrap (Efron; Field and Welsh, 2007).

Replies of one persona are more alike than replies of two, so whole personas are resampled. Resampling
single replies would make intervals too narrow.
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
"""Number of clusters that are resampled at once, which bounds the memory."""


@dataclass(frozen=True)
class Interval:
    """A mean with its confidence interval.

    `low` and `high` are None when all items belong to one cluster, since there is then no information about
    other clusters. With fewer than about ten clusters the interval is too narrow, like every bootstrap.
    """

    mean: float
    low: float | None
    high: float | None
    n: int
    """Number of items."""


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
        clusters: the cluster of each item, such as the persona that replied.
        confidence: confidence level of the interval, between 0 and 1.
        resamples: number of bootstrap resamples.
        seed: seed of the resampling. The same items give the same interval, in any order.

    Raises:
        ValueError: there are no values, one is not finite, or the numbers of values and clusters differ.
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
    """The mean difference of `first` and `second` on the same items, with its interval.

    The systems differ when the interval does not contain 0. Pairing removes the difficulty of the items, so
    this detects smaller differences than a comparison of two separate intervals.

    Both systems have a score for each item, in the same order. The other arguments are those of
    `mean_interval`.

    Raises:
        ValueError: as in `mean_interval`, or the numbers of scores differ.
    """
    differences = [one - other for one, other in zip(first, second, strict=True)]
    return mean_interval(differences, clusters, confidence=confidence, resamples=resamples, seed=seed)


def values_by_cluster(values: Sequence[float], clusters: Sequence[str]) -> list[list[float]]:
    """The values of each cluster, in the order of the clusters' names.

    Raises:
        ValueError: there are no values, one is not finite, or the numbers of values and clusters differ.
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
    """The bootstrap distribution of the mean.

    Each of the `resamples` resamples draws `len(groups)` clusters with replacement and averages all
    their values.
    """
    import numpy as np

    sums = np.array([math.fsum(group) for group in groups])
    sizes = np.array([len(group) for group in groups])
    random = np.random.default_rng(seed)
    at_once = max(1, SAMPLED_AT_ONCE // len(groups))
    means = []
    for start in range(0, resamples, at_once):
        sampled = random.integers(len(groups), size=(min(at_once, resamples - start), len(groups)))
        means.append(sums[sampled].sum(axis=1) / sizes[sampled].sum(axis=1))
    return np.concatenate(means)

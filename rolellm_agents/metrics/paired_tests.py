"""Significance test of the difference between two systems on the same items.

The test is two-sided and permutes whole clusters, such as all replies of one persona. For the size of the
difference, see `difference_interval`.
"""

import math
from collections.abc import Sequence
from itertools import product

from rolellm_agents.metrics.intervals import RESAMPLES, SAMPLED_AT_ONCE, values_by_cluster

_ROUNDING = 1e-12
"""Tolerance for the rounding of sums of the same numbers in another order."""


def sign_flip_p_value(
    first: Sequence[float],
    second: Sequence[float],
    clusters: Sequence[str],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> float:
    """The p-value of the paired permutation test with whole clusters (Good, 2005, §3.7).

    It is the share of permutations, each of which swaps the systems in some clusters, with a difference at
    least as large. With few clusters all permutations are tried, and the value is exact. With n clusters it
    is at least 1/2^(n-1), so with five or fewer no difference is significant at .05.

    Args:
        first: one score for each item.
        second: the other system's scores on the same items, in the same order.
        clusters: the cluster of each item.
        resamples: number of random permutations when there are too many to try all.
        seed: seed of the permutations. The same items give the same value, in any order.

    Raises:
        ValueError: there are no scores, one is not finite, or the numbers of scores and clusters differ.
    """
    import numpy as np

    groups = values_by_cluster(_differences(first, second), clusters)
    sums = np.array([math.fsum(group) for group in groups])
    least = abs(math.fsum(sums)) - _ROUNDING * len(first)
    if 2 ** len(groups) <= resamples:
        signs = np.array(list(product((-1, 1), repeat=len(groups))))
        return float((abs(signs @ sums) >= least).mean())
    random = np.random.default_rng(seed)
    at_once = max(1, SAMPLED_AT_ONCE // len(groups))
    as_far = 0
    for start in range(0, resamples, at_once):
        flipped = random.integers(2, size=(min(at_once, resamples - start), len(groups)))
        as_far += int((abs((1 - 2 * flipped) @ sums) >= least).sum())
    return (as_far + 1) / (resamples + 1)


def _differences(first: Sequence[float], second: Sequence[float]) -> list[float]:
    return [one - other for one, other in zip(first, second, strict=True)]

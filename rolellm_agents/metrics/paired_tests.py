"""Whether one system scores higher than another on the same items, or chance would do as much.

The test is two-sided and takes whole clusters, such as all replies of one persona, as what chance deals
with; `difference_interval` says by how much the systems differ.
"""

import math
from collections.abc import Sequence
from itertools import product

from rolellm_agents.metrics.intervals import RESAMPLES, SAMPLED_AT_ONCE, values_by_cluster

_ROUNDING = 1e-12
"""Sums of the same numbers in another order differ by less."""


def sign_flip_p_value(
    first: Sequence[float],
    second: Sequence[float],
    clusters: Sequence[str],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> float:
    """How often the difference would be as large if it were chance which system is called the first.

    The permutation test of paired scores: the systems change places in whole clusters (Good, 2005, §3.7).
    With few clusters all ways to do so are gone through, and the value is exact; with n clusters it cannot
    be less than 1 in 2^(n-1), and so no difference is significant at .05 with five or fewer.

    Args:
        first: one score for each item.
        second: the other system's scores on the same items, in the same order.
        clusters: for each item what it was drawn with.
        resamples: how many ways are tried, when there are more.
        seed: of the draws; the order of the items changes nothing.

    Raises:
        ValueError: there is no score, one is not finite, or there are not as many of each.
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
    for begun in range(0, resamples, at_once):
        flipped = random.integers(2, size=(min(at_once, resamples - begun), len(groups)))
        as_far += int((abs((1 - 2 * flipped) @ sums) >= least).sum())
    return (as_far + 1) / (resamples + 1)


def _differences(first: Sequence[float], second: Sequence[float]) -> list[float]:
    return [one - other for one, other in zip(first, second, strict=True)]

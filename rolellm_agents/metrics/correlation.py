"""Correlation of two scores of the same items, such as a judge's and people's."""

import math
from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

_RESAMPLES = 1_000

Pairs = Sequence[tuple[float, float]]
Correlation = Callable[[Pairs], float | None]
"""Maps pairs of scores to a number between -1 and 1, or to None when one side is constant."""


@dataclass(frozen=True)
class Correlated:
    """A correlation with its confidence interval."""

    value: float | None
    """None when there are fewer than two items, or one of the scores is constant."""
    low: float | None
    high: float | None
    """None, like `low`, for a single cluster, or when most resamples have no correlation."""
    n: int
    """Number of items."""


def pearson(pairs: Pairs) -> float | None:
    """Pearson's correlation; None when it is undefined."""
    if len(pairs) < 2:
        return None
    one, other = zip(*pairs, strict=True)
    if len(set(one)) == 1 or len(set(other)) == 1:
        return None
    first, second = _centred(one), _centred(other)
    across = math.fsum(map(float.__mul__, first, second))
    spread = math.hypot(*first) * math.hypot(*second)
    return max(-1.0, min(1.0, across / spread)) if spread else None


def spearman(pairs: Pairs) -> float | None:
    """Spearman's correlation: Pearson's correlation of ranks; equal scores share their mean rank."""
    if not pairs:
        return None
    one, other = zip(*pairs, strict=True)
    return pearson(list(zip(_ranks(one), _ranks(other), strict=True)))


def kendall(pairs: Pairs) -> float | None:
    """Kendall's tau-b: the excess of pairs of items that both scores order alike (Knight, 1966)."""
    if len(pairs) < 2:
        return None
    every = math.comb(len(pairs), 2)
    tied_one, tied_other = (_tied(side) for side in zip(*pairs, strict=True))
    if every in (tied_one, tied_other):
        return None
    ordered = sorted(pairs)
    seen: list[float] = []
    unlike = 0
    for _, other in ordered:
        unlike += len(seen) - bisect_right(seen, other)
        insort(seen, other)
    alike = every - tied_one - tied_other + _tied(pairs) - unlike
    return (alike - unlike) / (math.sqrt(every - tied_one) * math.sqrt(every - tied_other))


CORRELATIONS: Mapping[str, Correlation] = MappingProxyType(
    {"pearson": pearson, "spearman": spearman, "kendall": kendall}
)


def correlated(
    correlation: Correlation,
    pairs: Pairs,
    clusters: Sequence[str],
    *,
    confidence: float = 0.95,
    resamples: int = _RESAMPLES,
    seed: int = 0,
) -> Correlated:
    """A correlation with a percentile bootstrap interval.

    Args:
        correlation: one of `CORRELATIONS`.
        pairs: the two scores of each item.
        clusters: the cluster of each item, such as the persona that replied; whole clusters are resampled.
        confidence: confidence level of the interval, between 0 and 1.
        resamples: number of bootstrap resamples.
        seed: seed of the resampling. The same items give the same interval, in any order.

    Raises:
        ValueError: a score is not finite, or the numbers of pairs and clusters differ.
    """
    if not all(math.isfinite(score) for pair in pairs for score in pair):
        raise ValueError("a score is not finite")
    by_cluster: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for pair, cluster in zip(pairs, clusters, strict=True):
        by_cluster[cluster].append(pair)
    groups = [sorted(by_cluster[name]) for name in sorted(by_cluster)]
    value = correlation([pair for group in groups for pair in group])
    if value is None or len(groups) == 1:
        return Correlated(value, None, None, len(pairs))

    import numpy as np

    random = np.random.default_rng(seed)
    sampled = (random.integers(len(groups), size=len(groups)).tolist() for _ in range(resamples))
    values = [correlation([pair for number in numbers for pair in groups[number]]) for numbers in sampled]
    known = [one for one in values if one is not None]
    if 2 * len(known) < resamples:
        return Correlated(value, None, None, len(pairs))
    outside = (1 - confidence) / 2
    low, high = np.quantile(known, [outside, 1 - outside])
    return Correlated(value, float(low), float(high), len(pairs))


def _centred(scores: Sequence[float]) -> list[float]:
    mean = math.fsum(scores) / len(scores)
    return [score - mean for score in scores]


def _ranks(scores: Sequence[float]) -> list[float]:
    """The rank of each score; equal scores share the mean of their ranks."""
    ordered = sorted(scores)
    return [(bisect_left(ordered, score) + bisect_right(ordered, score)) / 2 for score in scores]


def _tied(scores: Sequence[object]) -> int:
    """The number of pairs of equal scores."""
    return sum(math.comb(times, 2) for times in Counter(scores).values())

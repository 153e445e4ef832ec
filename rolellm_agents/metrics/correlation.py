"""How far two scores of the same things go together, such as a judge's and people's."""

import math
from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

_RESAMPLES = 1_000

Pairs = Sequence[tuple[float, float]]
Correlation = Callable[[Pairs], float | None]
"""From pairs of scores to a number between -1 and 1; None where one side is the same throughout."""


@dataclass(frozen=True)
class Correlated:
    """A correlation, and where the true one may lie."""

    value: float | None
    """None where there are no two things, or one of the scores is the same for all."""
    low: float | None
    high: float | None
    """None, as is `low`, for one cluster alone, or when most draws have no correlation."""
    n: int
    """How many things were scored."""


def pearson(pairs: Pairs) -> float | None:
    """How near the pairs lie to a straight line."""
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
    """How near they are to one order: Pearson's correlation of ranks; equal scores share one."""
    if not pairs:
        return None
    one, other = zip(*pairs, strict=True)
    return pearson(list(zip(_ranks(one), _ranks(other), strict=True)))


def kendall(pairs: Pairs) -> float | None:
    """Kendall's tau-b: by how much more pairs of things both scores order alike than not (Knight, 1966)."""
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
        pairs: for each thing its two scores.
        clusters: for each thing what it was drawn with, such as the persona that replied; whole clusters
            are drawn.
        confidence: the part of intervals that hold the true correlation, between 0 and 1.
        resamples: how often as many clusters as there are are drawn, with replacement.
        seed: of the draws; the order of the things changes nothing.

    Raises:
        ValueError: a score is not finite, or there are not as many clusters.
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
    drawn = (random.integers(len(groups), size=len(groups)).tolist() for _ in range(resamples))
    values = [correlation([pair for number in numbers for pair in groups[number]]) for numbers in drawn]
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
    """Equal scores have the middle of their places."""
    ordered = sorted(scores)
    return [(bisect_left(ordered, score) + bisect_right(ordered, score)) / 2 for score in scores]


def _tied(scores: Sequence[object]) -> int:
    """Pairs of equal ones."""
    return sum(math.comb(times, 2) for times in Counter(scores).values())

"""How often one system is preferred to another, and how often it would be at equal length.

Judges prefer longer replies. `length_controlled_win_rate` takes that out as AlpacaEval 2 does (Dubois et
al., arXiv 2404.04475, §3): the preference is explained by a constant and the difference in length, and what
is told is the constant's part alone. The paper's third term, how hard each instruction is, needs many
systems on the same instructions and is left out.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rolellm_agents.metrics.intervals import SAMPLED_AT_ONCE, Interval, mean_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

_RESAMPLES = 1_000
_RIDGE = 1e-3
"""So little that it moves nothing but what would run off to infinity: a system that wins all the time."""
_LONGEST_STEP = 2**-0.5
"""Newton's steps of at most this length always lead down: the explaining terms are at most √2 long, and the
logistic loss is self-concordant in Bach's sense (2010)."""
_MOST_STEPS = 200
_STILL = 1e-9


def win_rate(preferences: Sequence[float], clusters: Sequence[str]) -> Interval:
    """The share of comparisons that the first system wins; ties count half.

    Args:
        preferences: 1 where the first is preferred, 0 where the second is, 0.5 where neither.
        clusters: for each comparison what it was drawn with, such as the persona.

    Raises:
        ValueError: there is none, one is not between 0 and 1, or there are not as many clusters.
    """
    _check(preferences)
    return mean_interval(preferences, clusters)


def length_controlled_win_rate(
    preferences: Sequence[float],
    lengths: Sequence[float],
    other_lengths: Sequence[float],
    clusters: Sequence[str],
    *,
    confidence: float = 0.95,
    resamples: int = _RESAMPLES,
    seed: int = 0,
) -> Interval:
    """The win rate that is predicted for replies as long as the other system's.

    The probability to win is the logistic function of θ + φ·tanh(Δ/σ), with Δ the difference in length and
    σ its root mean square; the result is that of θ alone. AlpacaEval divides by the standard deviation,
    which is nothing when one system is always longer by the same. In that case nobody can tell what length
    did, and the preference is shared out between the two.

    Args:
        preferences: as in `win_rate`.
        lengths: of the first system's replies, in words or anything else.
        other_lengths: of the second's, in the same order.
        clusters: as in `win_rate`.
        confidence: the part of intervals that hold the true rate, between 0 and 1.
        resamples: how often as many clusters as there are are drawn, and the curve fitted anew.
        seed: of the draws; the order of the items changes nothing.

    Raises:
        ValueError: there is none, one is not between 0 and 1, or there are not as many of each.
    """
    import numpy as np

    _check(preferences)
    differences = [one - other for one, other in zip(lengths, other_lengths, strict=True)]
    rows = sorted(zip(clusters, differences, preferences, strict=True))
    sizes = list(Counter(cluster for cluster, _, _ in rows).values())
    wins = np.array([preference for _, _, preference in rows])
    longer = np.array([difference for _, difference, _ in rows], dtype=float)
    spread = float(np.sqrt((longer**2).mean()))
    terms = np.stack([np.ones_like(longer), np.tanh(longer / spread) if spread else longer], axis=1)
    rate = float(_rates(terms, wins, np.ones((1, len(wins))))[0])
    if len(sizes) == 1:
        return Interval(rate, None, None, len(wins))
    random = np.random.default_rng(seed)
    at_once = max(1, SAMPLED_AT_ONCE // len(wins))
    rates = []
    for begun in range(0, resamples, at_once):
        drawn = random.multinomial(
            len(sizes), [1 / len(sizes)] * len(sizes), size=min(at_once, resamples - begun)
        )
        rates.append(_rates(terms, wins, np.repeat(drawn, sizes, axis=1).astype(float)))
    outside = (1 - confidence) / 2
    low, high = np.quantile(np.concatenate(rates), [outside, 1 - outside])
    return Interval(rate, float(low), float(high), len(wins))


def _rates(terms: "Array", wins: "Array", weights: "Array") -> "Array":
    """The rate at equal length for each row of weights: Newton's method for all of them at once.

    Args:
        terms: the constant 1 and the length's term of each comparison, (n, 2).
        wins: (n,).
        weights: how often each comparison counts, (fits, n).
    """
    import numpy as np

    found = np.zeros((len(weights), 2))
    for _ in range(_MOST_STEPS):
        likely = _logistic(found @ terms.T)
        slope = (weights * (likely - wins)) @ terms + _RIDGE * found
        bent = np.einsum("fn,ni,nj->fij", weights * likely * (1 - likely), terms, terms)
        step = np.linalg.solve(bent + _RIDGE * np.eye(2), slope[..., None])[..., 0]
        length = np.linalg.norm(step, axis=1, keepdims=True)
        found -= step * np.minimum(1, _LONGEST_STEP / np.maximum(length, _STILL))
        if length.max() < _STILL:
            break
    return _logistic(found[:, 0])


def _logistic(of: "Array") -> "Array":
    import numpy as np

    return (1 + np.tanh(of / 2)) / 2


def _check(preferences: Sequence[float]) -> None:
    if not preferences:
        raise ValueError("there are no preferences")
    if not all(0 <= preference <= 1 for preference in preferences):
        raise ValueError("a preference is not between 0 and 1")

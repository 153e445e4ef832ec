"""Win rates of one system against another, with and without control for length.

Judges prefer longer replies. `length_controlled_win_rate` corrects for that like AlpacaEval 2 (Dubois et
al., arXiv 2404.04475, §3): a logistic model explains the preference by a constant and the difference in
length, and the result uses the constant alone. The paper's third term, the difficulty of each instruction,
needs many systems on the same instructions and is left out.
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
"""A small ridge penalty, which keeps the fit finite when one system always wins."""
_LONGEST_STEP = 2**-0.5
"""Newton steps of at most this length always decrease the loss: the feature vectors are at most √2 long,
and the logistic loss is self-concordant in Bach's sense (2010)."""
_MOST_STEPS = 200
_STILL = 1e-9


def win_rate(preferences: Sequence[float], clusters: Sequence[str]) -> Interval:
    """The share of comparisons that the first system wins; ties count half.

    Args:
        preferences: 1 when the first is preferred, 0 when the second is, 0.5 for a tie.
        clusters: the cluster of each comparison, such as the persona.

    Raises:
        ValueError: there are no preferences, one is not between 0 and 1, or the numbers of preferences and
            clusters differ.
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
    """The predicted win rate for replies that are as long as the other system's.

    The probability of a win is the logistic function of θ + φ·tanh(Δ/σ), where Δ is the difference in
    length and σ its root mean square. The result is the logistic function of θ alone. AlpacaEval divides by
    the standard deviation, which is zero when the difference in length is constant. In that case the effect
    of length cannot be identified, and both terms share the preference.

    Args:
        preferences: as in `win_rate`.
        lengths: lengths of the first system's replies, in any unit.
        other_lengths: lengths of the second system's replies, in the same order.
        clusters: as in `win_rate`.
        confidence: confidence level of the interval, between 0 and 1.
        resamples: number of bootstrap resamples; the model is fitted to each.
        seed: seed of the resampling. The same items give the same interval, in any order.

    Raises:
        ValueError: there are no preferences, one is not between 0 and 1, or the numbers of preferences,
            lengths and clusters differ.
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
    for start in range(0, resamples, at_once):
        sampled = random.multinomial(
            len(sizes), [1 / len(sizes)] * len(sizes), size=min(at_once, resamples - start)
        )
        rates.append(_rates(terms, wins, np.repeat(sampled, sizes, axis=1).astype(float)))
    outside = (1 - confidence) / 2
    low, high = np.quantile(np.concatenate(rates), [outside, 1 - outside])
    return Interval(rate, float(low), float(high), len(wins))


def _rates(terms: "Array", wins: "Array", weights: "Array") -> "Array":
    """The rate at equal length for each row of weights, fitted by Newton's method for all rows at once.

    Args:
        terms: the constant 1 and the length term of each comparison, shape (n, 2).
        wins: the preference of each comparison, shape (n,).
        weights: the weight of each comparison in each fit, shape (fits, n).
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

"""How far two scores of the same things go together."""

import math
import random
from itertools import combinations

import pytest
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.metrics import CORRELATIONS, Correlated, correlated

PAIRS = list(zip([1, 2, 2, 3, 5, 4, 4, 8, 9, 1], [2, 1, 3, 3, 6, 4, 2, 9, 7, 2], strict=True))


@pytest.mark.parametrize(
    ("name", "value"),
    # By scipy 1.17: pearsonr, spearmanr, kendalltau.
    [("pearson", 0.8938410716739289), ("spearman", 0.8167859417811733), ("kendall", 0.6988459044322259)],
)
def test_correlations_are_those_of_scipy(name: str, value: float) -> None:
    assert CORRELATIONS[name](PAIRS) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("name", CORRELATIONS)
@pytest.mark.parametrize("pairs", [[], [(1.0, 2.0)], [(1.0, 2.0), (1.0, 3.0)], [(1.0, 2.0), (3.0, 2.0)]])
def test_what_does_not_vary_goes_with_nothing(name: str, pairs: list[tuple[float, float]]) -> None:
    assert CORRELATIONS[name](pairs) is None
    assert correlated(CORRELATIONS[name], pairs, ["a"] * len(pairs)) == Correlated(
        None, None, None, len(pairs)
    )


SCORES = st.integers(-20, 20).map(float)
ITEMS = st.lists(st.tuples(SCORES, SCORES), min_size=2, max_size=15)


def tau_b(pairs: list[tuple[float, float]]) -> float | None:
    """Kendall's definition, pair by pair."""
    signs = [
        (
            math.copysign(1, one[0] - other[0]) * (one[0] != other[0]),
            math.copysign(1, one[1] - other[1]) * (one[1] != other[1]),
        )
        for one, other in combinations(pairs, 2)
    ]
    spread = math.sqrt(sum(map(abs, (one for one, _ in signs)))) * math.sqrt(
        sum(map(abs, (other for _, other in signs)))
    )
    return sum(one * other for one, other in signs) / spread if spread else None


@examples(1.5)
@given(ITEMS)
def test_kendall_counts_pairs_in_one_order(pairs: list[tuple[float, float]]) -> None:
    expected = tau_b(pairs)
    assert CORRELATIONS["kendall"](pairs) == (None if expected is None else pytest.approx(expected))


@given(ITEMS, st.sampled_from(sorted(CORRELATIONS)))
def test_a_score_goes_with_itself_and_against_its_opposite(
    pairs: list[tuple[float, float]], name: str
) -> None:
    ones = [one for one, _ in pairs]
    same = CORRELATIONS[name](list(zip(ones, ones, strict=True)))
    opposite = CORRELATIONS[name]([(one, -one) for one in ones])
    if len(set(ones)) == 1:
        assert same is opposite is None
    else:
        assert same == pytest.approx(1)
        assert opposite == pytest.approx(-1)
    value = CORRELATIONS[name](pairs)
    assert value is None or -1 - 1e-12 <= value <= 1 + 1e-12


@given(ITEMS, st.sampled_from(["spearman", "kendall"]))
def test_of_ranks_only_the_order_counts(pairs: list[tuple[float, float]], name: str) -> None:
    stretched = [(one**3, math.exp(other)) for one, other in pairs]
    value = CORRELATIONS[name](pairs)
    assert CORRELATIONS[name](stretched) == (None if value is None else pytest.approx(value))


def coverage(items_in_a_cluster: int) -> float:
    """How often intervals hold the true correlation, .5, of 400 things that come by ten from one place."""
    draw = random.Random(1)
    clusters = [str(number // items_in_a_cluster) for number in range(400)]
    held = 0
    for _ in range(80):
        places = [draw.gauss(0, 1) for _ in range(40)]
        pairs = [
            (place + draw.gauss(0, 1), place + draw.gauss(0, 1)) for place in places for _ in range(10)
        ]
        found = correlated(CORRELATIONS["pearson"], pairs, clusters, resamples=100)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 0.5 <= found.high
    return held / 80


@pytest.mark.slow
def test_intervals_hold_the_true_correlation_about_as_often_as_they_say() -> None:
    # Percentile intervals of forty clusters are a little too narrow.
    assert 0.82 <= coverage(items_in_a_cluster=10) <= 0.99
    assert coverage(items_in_a_cluster=1) < 0.75


@examples(0.25)
@given(ITEMS, st.sampled_from(sorted(CORRELATIONS)), st.randoms(use_true_random=False))
def test_the_same_things_in_any_order_give_the_same(
    pairs: list[tuple[float, float]], name: str, draw: random.Random
) -> None:
    placed = [(pair, "abc"[number % 3]) for number, pair in enumerate(pairs)]
    shuffled = draw.sample(placed, len(placed))
    once, again = (
        correlated(CORRELATIONS[name], *zip(*items, strict=True), resamples=30)
        for items in (placed, shuffled)
    )
    assert once == again


def test_one_cluster_alone_has_no_bounds_and_bad_scores_are_refused() -> None:
    found = correlated(CORRELATIONS["kendall"], PAIRS, ["a"] * 10)
    assert (found.low, found.high, found.n) == (None, None, 10)
    with pytest.raises(ValueError, match="not finite"):
        correlated(CORRELATIONS["pearson"], [(1.0, float("nan"))], ["a"])
    with pytest.raises(ValueError, match="shorter"):
        correlated(CORRELATIONS["pearson"], PAIRS, ["a"])

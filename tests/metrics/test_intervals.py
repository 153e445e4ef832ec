"""How sure a mean is."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.metrics import Interval, difference_interval, mean_interval


def bounds(interval: Interval) -> tuple[float, float]:
    assert interval.low is not None
    assert interval.high is not None
    return interval.low, interval.high


def test_whole_clusters_are_drawn_and_weigh_as_many_items_as_they_have() -> None:
    # Of two clusters both draws are the same one in a quarter of the cases each, and so the bounds are the
    # two means, however many items there are.
    interval = mean_interval([0.0] * 30 + [1.0] * 10, ["ada"] * 30 + ["ben"] * 10)
    assert interval == Interval(mean=0.25, low=0.0, high=1.0, n=40)
    # Half of the draws have both, and half of the means lie within them.
    assert mean_interval([0.0] * 30 + [1.0] * 10, ["ada"] * 30 + ["ben"] * 10, confidence=0.4).high == 0.25


def test_with_an_item_for_each_cluster_it_is_the_plain_bootstrap() -> None:
    # The binomial's quantiles: 100 draws with chance 0.3 lie within 21 and 39 in 95 of 100 cases.
    interval = mean_interval([1.0] * 30 + [0.0] * 70, [str(number) for number in range(100)])
    assert (interval.mean, interval.n) == (0.3, 100)
    assert bounds(interval) == pytest.approx((0.21, 0.39), abs=0.011)


@pytest.mark.parametrize("values", [[0.4], [0.4, 0.6, 0.8]])
def test_one_cluster_or_one_item_alone_has_no_bounds(values: list[float]) -> None:
    interval = mean_interval(values, ["ada"] * len(values))
    assert interval == Interval(pytest.approx(sum(values) / len(values)), None, None, len(values))  # type: ignore[arg-type]
    difference = difference_interval(values, values, ["ada"] * len(values))
    assert difference == Interval(0.0, None, None, len(values))


@pytest.mark.parametrize(
    ("values", "clusters", "complaint"),
    [
        ([], [], "no values"),
        ([0.1, float("nan")], ["a", "b"], "not finite"),
        ([0.1, float("inf")], ["a", "b"], "not finite"),
        ([0.1, 0.2], ["a"], "shorter"),
    ],
)
def test_what_has_no_mean_is_refused(values: list[float], clusters: list[str], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        mean_interval(values, clusters)


def test_two_systems_must_have_scored_the_same_items() -> None:
    with pytest.raises(ValueError, match="longer"):
        difference_interval([0.1, 0.2], [0.1, 0.2, 0.3], ["a", "b"])


def test_pairing_tells_apart_what_two_intervals_do_not() -> None:
    draw = random.Random(1)
    clusters = [f"persona {number % 20}" for number in range(200)]
    hard = {cluster: draw.random() for cluster in clusters}
    first = [hard[cluster] + 0.05 + draw.gauss(0, 0.02) for cluster in clusters]
    second = [hard[cluster] + draw.gauss(0, 0.02) for cluster in clusters]
    assert bounds(mean_interval(first, clusters))[0] < bounds(mean_interval(second, clusters))[1]
    low, high = bounds(difference_interval(first, second, clusters))
    assert 0.04 < low < 0.05 < high < 0.06


def coverage(items_in_a_cluster: int) -> float:
    """How often intervals hold the true mean, 0, of 50 times 6 items that come by six from one place."""
    draw = random.Random(2)
    clusters = [str(number // items_in_a_cluster) for number in range(300)]
    held = 0
    for _ in range(400):
        places = [draw.gauss(0, 1) for _ in range(50)]
        values = [place + draw.gauss(0, 1) for place in places for _ in range(6)]
        low, high = bounds(mean_interval(values, clusters, resamples=400))
        held += low <= 0 <= high
    return held / 400


def test_clusters_make_intervals_that_hold_the_true_mean_about_as_often_as_they_say() -> None:
    assert 0.92 <= coverage(items_in_a_cluster=6) <= 0.98
    assert coverage(items_in_a_cluster=1) < 0.75


SCORES = st.floats(-1, 1, allow_subnormal=False)
ITEMS = st.lists(st.tuples(SCORES, SCORES, st.sampled_from("abcde")), min_size=2, max_size=30)
Items = Sequence[tuple[float, float, str]]


@given(ITEMS, st.randoms(use_true_random=False))
def test_the_same_items_in_any_order_give_the_same_interval(items: Items, draw: random.Random) -> None:
    def of(items: Items) -> Interval:
        first, second, clusters = zip(*items, strict=True)
        return difference_interval(first, second, clusters, resamples=200)

    assert of(draw.sample(items, len(items))) == of(items)


@given(ITEMS, st.integers(0, 2**63))
def test_bounds_lie_in_their_order_between_the_least_and_the_greatest_value(
    items: Items, seed: int
) -> None:
    values, _, clusters = zip(*items, strict=True)
    interval = mean_interval(values, clusters, resamples=200, seed=seed)
    if len(set(clusters)) == 1:
        assert (interval.low, interval.high) == (None, None)
    else:
        low, high = bounds(interval)
        assert min(values) - 1e-12 <= low <= high + 1e-12 <= max(values) + 2e-12
    assert min(values) - 1e-12 <= interval.mean <= max(values) + 1e-12


@given(ITEMS)
def test_a_difference_turned_round_is_its_mirror_image(items: Items) -> None:
    first, second, clusters = zip(*items, strict=True)
    there = difference_interval(first, second, clusters, resamples=200)
    back = difference_interval(second, first, clusters, resamples=200)
    assert back.mean == -there.mean
    if there.low is not None:
        low, high = bounds(back)
        assert (-high, -low) == pytest.approx(bounds(there), abs=1e-12)


def test_another_seed_draws_anew_and_more_resamples_change_little() -> None:
    draw = random.Random(3)
    values = [draw.random() for _ in range(60)]
    clusters = [str(number % 12) for number in range(60)]
    once, anew = (mean_interval(values, clusters, seed=seed) for seed in (0, 1))
    assert once != anew
    assert bounds(once) == pytest.approx(bounds(anew), abs=0.01)
    many = mean_interval(values, clusters, resamples=200_000)  # more than are drawn at once
    assert bounds(many) == pytest.approx(bounds(once), abs=0.01)

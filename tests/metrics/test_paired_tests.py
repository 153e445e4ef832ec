"""Whether one system scores higher than another by more than chance."""

import random
from collections import defaultdict
from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.metrics import sign_flip_p_value


def alone(items: Sequence[object]) -> list[str]:
    """Each item in a cluster of its own."""
    return [f"{number:03}" for number in range(len(items))]


def test_six_wins_of_six_are_one_in_32_when_systems_change_places() -> None:
    first, second = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9], [0.3, 0.4, 0.4, 0.5, 0.5, 0.6]
    assert sign_flip_p_value(first, second, alone(first)) == pytest.approx(2 / 2**6)
    # In two clusters there are but four ways, and two of them are as far.
    assert sign_flip_p_value(first, second, list("aaabbb")) == pytest.approx(1 / 2)


def test_with_one_cluster_nothing_is_known() -> None:
    assert sign_flip_p_value([1.0, 0.9], [0.1, 0.2], ["a", "a"]) == 1


def test_systems_that_score_the_same_are_not_told_apart() -> None:
    scores = [0.1 * number for number in range(20)]
    assert sign_flip_p_value(scores, scores, alone(scores)) == 1


def test_a_large_difference_is_as_unlikely_as_resamples_can_tell() -> None:
    draw = random.Random(1)
    second = [draw.random() for _ in range(60)]
    first = [score + 0.2 + draw.gauss(0, 0.05) for score in second]
    assert sign_flip_p_value(first, second, alone(first), resamples=999) == pytest.approx(1 / 1000)


def share_below(level: float, *, clusters: bool) -> float:
    """How often systems that do not differ get a value below `level`; items come by four from 25 places."""
    draw = random.Random(2)
    names = [str(number // 4 if clusters else number) for number in range(100)]
    below = 0
    for _ in range(300):
        places = [draw.gauss(0, 1) for _ in range(25)]
        first = [place + draw.gauss(0, 1) for place in places for _ in range(4)]
        found = sign_flip_p_value(first, [0.0] * 100, names, resamples=300)
        below += found <= level
    return below / 300


def test_what_does_not_differ_is_below_a_level_about_as_often_as_the_level_says() -> None:
    assert 0.06 <= share_below(0.1, clusters=True) <= 0.15
    # Replies of one place taken for independent ones make too much of it.
    assert share_below(0.1, clusters=False) > 0.2


@pytest.mark.parametrize(
    ("first", "second", "clusters", "complaint"),
    [
        ([], [], [], "no values"),
        ([float("nan"), 1.0], [0.1, 0.2], ["a", "b"], "not finite"),
        ([0.1], [0.1, 0.2], ["a"], "longer"),
        ([0.1, 0.2], [0.1, 0.2], ["a"], "shorter"),
    ],
)
def test_what_is_not_paired_is_refused(
    first: list[float],
    second: list[float],
    clusters: list[str],
    complaint: str,
) -> None:
    with pytest.raises(ValueError, match=complaint):
        sign_flip_p_value(first, second, clusters)


SCORES = st.integers(-8, 8).map(lambda number: number / 8)
ITEMS = st.lists(st.tuples(SCORES, SCORES, st.sampled_from("abcdefg")), min_size=1, max_size=16)


@given(ITEMS)
def test_few_clusters_are_flipped_in_all_ways(items: list[tuple[float, float, str]]) -> None:
    first, second, clusters = zip(*items, strict=True)
    sums: defaultdict[str, float] = defaultdict(float)
    for one, other, cluster in items:
        sums[cluster] += one - other
    ways = [
        abs(sum(sign * held for sign, held in zip(signs, sums.values(), strict=True)))
        for signs in product((-1, 1), repeat=len(sums))
    ]
    as_far = sum(way >= abs(sum(sums.values())) for way in ways)
    assert sign_flip_p_value(first, second, clusters) == pytest.approx(as_far / len(ways))


@given(ITEMS, st.randoms(use_true_random=False))
def test_order_and_direction_change_nothing(
    items: list[tuple[float, float, str]], draw: random.Random
) -> None:
    def of(items: Sequence[tuple[float, float, str]], *, turned: bool = False) -> float:
        first, second, clusters = zip(*items, strict=True)
        return (
            sign_flip_p_value(second, first, clusters)
            if turned
            else sign_flip_p_value(first, second, clusters)
        )

    found = of(items)
    assert of(draw.sample(items, len(items))) == found == of(items, turned=True)
    assert 0 < found <= 1

"""How often one system is preferred, and how often it would be at equal length."""

import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.metrics import length_controlled_win_rate, win_rate

NO_LENGTHS = [0.0, 0.0, 0.0, 0.0]


def test_ties_count_half() -> None:
    rate = win_rate([1, 0, 0.5, 1], ["a", "a", "b", "b"])
    assert (rate.mean, rate.n) == (0.625, 4)
    assert (rate.low, rate.high) == (0.5, 0.75)


def judged(length_counts: float, better: float, count: int, seed: int) -> tuple[list[float], list[float]]:
    """Preferences of a judge for replies that are longer by so many words, with their own worth."""
    draw = random.Random(seed)
    longer = [draw.gauss(30, 40) for _ in range(count)]
    spread = math.sqrt(math.fsum(one**2 for one in longer) / count)
    wins = [
        draw.random() < 1 / (1 + math.exp(-better - length_counts * math.tanh(one / spread)))
        for one in longer
    ]
    return list(map(float, wins)), longer


@pytest.mark.parametrize("better", [-1.0, 0.0, 0.7])
def test_what_length_alone_wins_is_taken_out(better: float) -> None:
    wins, longer = judged(2.0, better, 4_000, seed=1)
    true = 1 / (1 + math.exp(-better))
    rate = length_controlled_win_rate(wins, longer, [0.0] * 4_000, ["one judge"] * 4_000)
    assert rate.mean == pytest.approx(true, abs=0.03)
    assert sum(wins) / 4_000 > true + 0.08


def test_intervals_hold_the_true_rate_about_as_often_as_they_say() -> None:
    clusters = [str(number % 40) for number in range(200)]
    held = 0
    for seed in range(80):
        wins, longer = judged(2.0, 0.0, 200, seed)
        rate = length_controlled_win_rate(wins, longer, [0.0] * 200, clusters, resamples=100)
        assert rate.low is not None
        assert rate.high is not None
        held += rate.low <= 0.5 <= rate.high
    assert 0.87 <= held / 80 <= 0.99


def test_replies_of_the_same_length_win_as_often_as_they_do() -> None:
    wins = [1.0, 0.5, 1.0, 0.0]
    rate = length_controlled_win_rate(wins, [7.0] * 4, [7.0] * 4, list("abcd"))
    assert rate.mean == pytest.approx(win_rate(wins, list("abcd")).mean, abs=1e-3)


@pytest.mark.parametrize(
    ("wins", "longer", "rate"),
    [
        # Always better, whatever the length.
        ([1.0] * 6, [-2.0, -1.0, -0.5, 0.5, 1.0, 2.0], 1.0),
        ([0.0] * 6, [-2.0, -1.0, -0.5, 0.5, 1.0, 2.0], 0.0),
        # The longer one always wins: length explains it all.
        ([0.0, 0.0, 0.0, 1.0, 1.0, 1.0], [-2.0, -1.0, -0.5, 0.5, 1.0, 2.0], 0.5),
    ],
)
def test_what_can_be_told_apart_wholly_has_a_rate_too(
    wins: list[float], longer: list[float], rate: float
) -> None:
    found = length_controlled_win_rate(wins, longer, [0.0] * 6, list("abcdef"), resamples=100)
    assert found.mean == pytest.approx(rate, abs=0.01)


def test_one_cluster_alone_has_no_bounds() -> None:
    rate = length_controlled_win_rate([1, 0, 1, 1], [3, 1, 2, 5], NO_LENGTHS, ["a"] * 4)
    assert (rate.low, rate.high, rate.n) == (None, None, 4)


@pytest.mark.parametrize(
    ("wins", "lengths", "clusters", "complaint"),
    [
        ([], [], [], "no preferences"),
        ([2.0], [1.0], ["a"], "not between 0 and 1"),
        ([float("nan")], [1.0], ["a"], "not between 0 and 1"),
        ([1.0, 0.0], [1.0, 2.0], ["a"], "argument"),
        ([1.0], [1.0, 2.0], ["a", "b"], "argument"),
    ],
)
def test_what_is_no_comparison_is_refused(
    wins: list[float], lengths: list[float], clusters: list[str], complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        length_controlled_win_rate(wins, lengths, [0.0] * len(lengths), clusters)


COMPARED = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 200), st.integers(0, 200), st.sampled_from("abcd")
    ),
    min_size=1,
    max_size=25,
)


def log_likelihood(theta: float, phi: float, rows: Sequence[tuple[float, float]]) -> float:
    """What the curve is fitted to: of preferences with their length's term, with a little pull to 0."""
    lost = sum(
        win * math.log1p(math.exp(-theta - phi * term))
        + (1 - win) * math.log1p(math.exp(theta + phi * term))
        for win, term in rows
    )
    return -lost - 0.5e-3 * (theta**2 + phi**2)


def most_likely(theta: float, rows: Sequence[tuple[float, float]]) -> float:
    """Over all slopes; the likelihood is concave, so that thirds that hold the best one can be cut off."""
    low, high = -60.0, 60.0
    for _ in range(100):
        one, other = low + (high - low) / 3, high - (high - low) / 3
        if log_likelihood(theta, one, rows) > log_likelihood(theta, other, rows):
            high = other
        else:
            low = one
    return log_likelihood(theta, low, rows)


@given(COMPARED)
def test_no_other_curve_is_more_likely(items: list[tuple[float, int, int, str]]) -> None:
    wins, lengths, others, clusters = zip(*items, strict=True)
    longer = [one - other for one, other in zip(lengths, others, strict=True)]
    spread = math.sqrt(sum(one**2 for one in longer) / len(longer))
    rows = [
        (win, math.tanh(one / spread) if spread else 0.0) for win, one in zip(wins, longer, strict=True)
    ]
    found = length_controlled_win_rate(wins, lengths, others, clusters, resamples=2).mean
    theta = math.log(found / (1 - found))
    best = most_likely(theta, rows)
    assert best >= most_likely(theta - 0.05, rows) - 1e-9
    assert best >= most_likely(theta + 0.05, rows) - 1e-9


@given(COMPARED, st.randoms(use_true_random=False))
def test_the_other_system_wins_the_rest_in_whatever_order(
    items: list[tuple[float, int, int, str]], draw: random.Random
) -> None:
    wins, lengths, others, clusters = zip(*items, strict=True)
    rate = length_controlled_win_rate(wins, lengths, others, clusters, resamples=20)
    back = length_controlled_win_rate([1 - win for win in wins], others, lengths, clusters, resamples=20)
    assert back.mean == pytest.approx(1 - rate.mean, abs=1e-6)
    shuffled = zip(*draw.sample(items, len(items)), strict=True)
    assert length_controlled_win_rate(*shuffled, resamples=20) == rate
    assert rate.low is None or (0 <= rate.low <= (rate.high or 0) <= 1)

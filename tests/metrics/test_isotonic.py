"""Isotonic regression: a fit that never falls, and values of items that it was not fitted to."""

import math
from itertools import pairwise

import pytest
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.metrics.isotonic import IsotonicCurve, held_out_values, isotonic_curve

POINTS = st.floats(-1e6, 1e6).map(lambda value: round(value, 3))
PAIRS = st.lists(st.tuples(POINTS, POINTS), min_size=1, max_size=40)


@given(PAIRS, POINTS, POINTS)
@examples(0.5)
def test_a_curve_never_falls_and_stays_between_the_scores(
    pairs: list[tuple[float, float]], one: float, other: float
) -> None:
    curve = isotonic_curve(pairs)
    low, high = sorted((one, other))
    slack = 1e-6
    assert curve(low) <= curve(high) + slack
    assert min(y for _, y in pairs) - slack <= curve(one) <= max(y for _, y in pairs) + slack


@given(PAIRS)
@examples(0.5)
def test_a_curve_is_that_of_scikit_learn(pairs: list[tuple[float, float]]) -> None:
    isotonic = pytest.importorskip("sklearn.isotonic")
    xs, ys = zip(*pairs, strict=True)
    expected = isotonic.IsotonicRegression(out_of_bounds="clip").fit(xs, ys).predict(xs)
    assert [isotonic_curve(pairs)(x) for x in xs] == pytest.approx(list(expected), abs=1e-5)


def test_rising_scores_are_met_and_falling_ones_are_pooled() -> None:
    rising = isotonic_curve([(1.0, 10.0), (2.0, 20.0), (4.0, 40.0)])
    assert [rising(x) for x in (0.0, 1.0, 3.0, 9.0)] == [10.0, 10.0, 30.0, 40.0]
    falling = isotonic_curve([(1.0, 4.0), (2.0, 2.0), (3.0, 0.0), (4.0, 9.0)])
    assert falling.knots == ((1.0, 2.0), (3.0, 2.0), (4.0, 9.0))


@pytest.mark.parametrize("knots", [(), ((2.0, 1.0), (1.0, 2.0)), ((1.0, 2.0), (2.0, 1.0))])
def test_knots_that_do_not_rise_are_refused(knots: tuple[tuple[float, float], ...]) -> None:
    with pytest.raises(ValueError, match="knots"):
        IsotonicCurve(knots)


def test_no_value_is_from_a_curve_that_has_seen_its_cluster() -> None:
    pairs = [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0), (2.0, 100.0)]
    values = held_out_values(pairs, ["a", "b", "c", "d"])
    assert values == [35.0, 51.5, 51.0, 2.0]
    alone = held_out_values(pairs, ["a"] * 4)
    assert alone == values


@given(PAIRS.filter(lambda pairs: len(pairs) > 1), st.integers(2, 12))
@examples(0.3)
def test_every_pair_has_a_held_out_value(pairs: list[tuple[float, float]], folds: int) -> None:
    clusters = [str(number % 3) for number in range(len(pairs))]
    values = held_out_values(pairs, clusters, folds)
    assert len(values) == len(pairs)
    assert all(map(math.isfinite, values))
    assert all(left[0] < right[0] for left, right in pairwise(isotonic_curve(pairs).knots))

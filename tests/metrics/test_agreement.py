"""How far raters agree."""

from itertools import combinations, permutations

import pytest
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.metrics import krippendorff_alpha
from rolellm_agents.metrics.agreement import Level

# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), C: four observers, twelve units.
RATERS = [
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
]
UNITS = [
    [None if mark == "." else float(mark) for mark in unit]
    for unit in zip(*(rater.split() for rater in RATERS), strict=True)
]


@pytest.mark.parametrize(("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_krippendorff_s_own_example(level: Level, alpha: float) -> None:
    assert krippendorff_alpha(UNITS, level) == pytest.approx(alpha, abs=5e-4)


def test_two_observers_of_two_kinds_by_his_first_example() -> None:
    one, other = "0100000000", "1110010010"
    units = [[float(mark) for mark in unit] for unit in zip(one, other, strict=True)]
    assert krippendorff_alpha(units, "nominal") == pytest.approx(0.095, abs=5e-4)


@pytest.mark.parametrize("units", [[], [[1.0], [None, 2.0]], [[3.0, 3.0], [3.0, None, 3.0]]])
def test_without_two_ratings_that_differ_there_is_nothing_to_tell_by(
    units: list[list[float | None]],
) -> None:
    assert krippendorff_alpha(units, "nominal") is None


@given(st.lists(st.lists(st.integers(1, 9).map(float), min_size=2, max_size=4), min_size=1, max_size=8))
@examples(0.5)
def test_the_interval_level_is_a_sum_over_all_pairs(units: list[list[float]]) -> None:
    """By definition: squared differences within units, against those among all ratings."""
    values = [value for unit in units for value in unit]

    def distances(ratings: list[float]) -> float:
        return sum((one - other) ** 2 for one, other in combinations(ratings, 2))

    found = krippendorff_alpha(units, "interval")
    if len(set(values)) == 1:
        assert found is None
        return
    within = sum(distances(unit) / (len(unit) - 1) for unit in units)
    assert found == pytest.approx(1 - (len(values) - 1) * within / distances(values))


def test_raters_who_contradict_each_other_agree_less_than_by_chance() -> None:
    alpha = krippendorff_alpha([[0, 1], [1, 0], [0, 1], [1, 0]], "nominal")
    assert alpha is not None
    assert alpha < -0.5


RATINGS = st.lists(
    st.lists(st.none() | st.integers(0, 4).map(float), min_size=1, max_size=4), min_size=1, max_size=8
)
LEVELS = st.sampled_from(["nominal", "ordinal", "interval"])


def by_definition(units: list[list[float | None]], level: Level) -> float | None:
    """One less observed over expected disagreement, pair by pair."""
    rated = [[one for one in unit if one is not None] for unit in units]
    rated = [unit for unit in rated if len(unit) > 1]
    every = [one for unit in rated for one in unit]

    def apart(one: float, other: float) -> float:
        low, high = sorted((one, other))
        match level:
            case "nominal":
                return float(one != other)
            case "interval":
                return (one - other) ** 2
            case "ordinal":
                between = sum(low <= rating <= high for rating in every)
                return (between - (every.count(low) + every.count(high)) / 2) ** 2 if low < high else 0.0

    pairs = [(one, other) for one, other in permutations(every, 2)]
    expected = sum(apart(*pair) for pair in pairs) / max(len(pairs), 1)
    if not expected:
        return None
    observed = sum(sum(apart(*pair) for pair in permutations(unit, 2)) / (len(unit) - 1) for unit in rated)
    return 1 - observed / len(every) / expected


@examples(1.5)
@given(RATINGS, LEVELS)
def test_it_is_what_its_definition_says(units: list[list[float | None]], level: Level) -> None:
    expected = by_definition(units, level)
    found = krippendorff_alpha(units, level)
    assert found == (None if expected is None else pytest.approx(expected))


@given(RATINGS, LEVELS)
def test_raters_who_say_the_same_agree_wholly(units: list[list[float | None]], level: Level) -> None:
    same = [[unit[0]] * 3 for unit in units]
    assert krippendorff_alpha(same, level) in (None, 1.0)

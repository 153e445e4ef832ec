"""Which questions of a test training knows."""

import pytest
from helpers.hypotheses import examples
from helpers.samples import any_samples, sample
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.datasets import Sample
from rolellm_agents.datasets.keys import question_key
from rolellm_agents.evaluation.training_overlap import training_overlap

TRAINING = [
    sample("Ada", "Who lights the lamp of the tower at night?", "I do."),
    sample("Ben", "Name a colour.", "Green.", kind="general"),
    sample("Ada", "What is for supper?", "Herring."),
]


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (sample("Ada", " What is  for supper? ", "Bread."), "asked of the same role in training"),
        (
            sample("ada", "What is for supper?", "Bread.", " Herring. "),
            "asked of the same role in training, with the same answer",
        ),
        (sample("Ben", "What is for supper?", "Herring."), "asked of Ada in training"),
        # Another kind, of another role: one model learns both.
        (sample("Ada", "Name a colour."), "asked of Ben in training"),
        # Nine words, of which eight are the same: 8 / 9 or 8 / 10 of all.
        (
            sample("Ada", "Who lights the lamp of the tower at night, Ada?"),
            "89% like “Who lights the lamp of the tower at night?” in training",
        ),
        (
            sample("Ada", "WHO lights the lamp of the tower at night"),
            "100% like “Who lights the lamp of the tower at night?” in training",
        ),
        (sample("Ada", "Who cleans the lamp of the tower by day?"), ""),
        (sample("Ada", "What was for breakfast?"), ""),
    ],
)
def test_a_question_is_known_by_its_words_or_nearly(asked: Sample, why: str) -> None:
    assert training_overlap([asked], TRAINING) == [why]


def test_the_nearest_of_several_is_named() -> None:
    near = sample("Ada", "one two three four five six seven eight nine ten eleven")
    training = [
        sample("Ada", "one two three four five six seven eight nine"),
        sample("Ada", "one two three four five six seven eight nine ten"),
    ]
    assert training_overlap([near], training) == [
        "91% like “one two three four five six seven eight nine ten” in training"
    ]


def test_questions_of_the_test_that_are_near_each_other_are_not_known_from_training() -> None:
    assert training_overlap([sample("Ada", "a b c d e?"), sample("Ada", "a b c d e!")], TRAINING) == [
        "",
        "",
    ]


def test_without_training_nothing_is_known() -> None:
    assert training_overlap(TRAINING, []) == ["", "", ""]
    assert training_overlap([], TRAINING) == []


@examples(0.25)
@given(st.lists(any_samples(), max_size=5), st.lists(any_samples(), max_size=5))
def test_what_stands_in_training_is_always_found(asked: list[Sample], training: list[Sample]) -> None:
    reasons = training_overlap([*asked, *training], training)
    assert len(reasons) == len(asked) + len(training)
    assert all(reasons[len(asked) :])
    known = {question_key(one.question) for one in training}
    assert all(reasons[place] for place, one in enumerate(asked) if question_key(one.question) in known)

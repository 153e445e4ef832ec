"""What an interviewer asks who keeps to a course."""

from collections import Counter
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.evaluation.drift import load_course, planned_questions
from rolellm_agents.judging.errors import JudgingError
from rolellm_agents.text.language import Language

languages = st.sampled_from(get_args(Language))


@pytest.mark.parametrize("language", get_args(Language))
def test_both_languages_ask_the_same_things(language: Language) -> None:
    course, english = load_course(language), load_course("en")
    assert course.language == language
    assert [one.id for one in course.middle] == [one.id for one in english.middle]
    assert [one.id for one in course.closing] == [one.id for one in english.closing]


@given(languages, st.integers(1, 50), st.integers(0, 30), st.integers(0, 5))
def test_there_are_as_many_questions_as_turns_and_none_has_an_open_place(
    language: Language, turns: int, number: int, seed: int
) -> None:
    course = load_course(language)
    asked = planned_questions(
        course, turns=turns, number=number, persona="ada", seed=seed, more=["Name a colour."]
    )
    assert len(asked) == turns
    assert len({one.id for one in asked}) == turns
    assert asked[0].id == course.opening.id
    assert not any("{" in text for one in asked for text in (one.text, *one.expects))
    ids = [one.id for one in asked]
    assert all(one.repeats is None or ids.index(one.id) > 0 for one in asked)


def test_over_seven_interviews_each_question_of_the_middle_stands_at_each_place_once() -> None:
    places = Counter(
        (turn, one.id)
        for number in range(7)
        for turn, one in enumerate(
            planned_questions(load_course("en"), turns=10, number=number, persona="ada")
        )
        if one.rotates
    )
    assert len(places) == 7 * 7
    assert set(places.values()) == {1}


def test_what_is_asked_again_was_said_in_the_same_interview() -> None:
    asked = planned_questions(load_course("en"), turns=10, number=3, persona="ada")
    name = next(one for one in asked if one.id == "name")
    assert len(name.expects) == 2
    assert all(told in asked[0].text for told in name.expects)
    again = next(one for one in asked if one.repeats)
    assert again.repeats in [one.id for one in asked]


def test_different_interviews_have_different_visitors() -> None:
    first = {
        planned_questions(load_course("en"), turns=1, number=number, persona="ada")[0].text
        for number in range(7)
    }
    assert len(first) == 7


def test_too_many_turns_without_further_questions_are_refused() -> None:
    with pytest.raises(JudgingError, match="no more than 10 questions"):
        planned_questions(load_course("en"), turns=11, number=0, persona="ada")

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


@pytest.mark.parametrize("number", [0, 3])
def test_probes_ask_the_closing_questions_at_their_turns(number: int) -> None:
    asked = planned_questions(
        load_course("en"), turns=60, number=number, persona="ada", more=["Why?"], probes=(5, 50, 60)
    )
    assert len(asked) == 60
    assert [asked[turn - 1].id for turn in (4, 5, 49, 50, 59, 60)] == [
        *("name-5", "again-5", "name-50", "again-50", "name-60", "again-60")
    ]
    assert [asked[turn - 1].repeats for turn in (5, 50, 60)] == ["trade", "again-5", "again-5"]
    assert {asked[turn - 1].text for turn in (5, 50, 60)} == {asked[4].text}
    assert asked[3].expects == asked[48].expects != ()
    assert len({one.id for one in asked}) == 60
    assert sum(one.rotates for one in asked) == 60 - 1 - 6


@pytest.mark.parametrize("probes", [(2,), (5, 6), (12,), (5, 5)])
def test_probes_that_do_not_fit_are_refused(probes: tuple[int, ...]) -> None:
    with pytest.raises(JudgingError, match="do not fit into 11 turns"):
        planned_questions(
            load_course("en"), turns=11, number=0, persona="ada", more=["Why?"], probes=probes
        )

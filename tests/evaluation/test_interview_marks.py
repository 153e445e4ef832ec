"""What is measured of interviews, turn by turn."""

import math
from collections.abc import Sequence

import pytest
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.evaluation.drift import AnsweredQuestion, marks_of, slopes_of, turn_figures
from rolellm_agents.evaluation.drift.by_turn import MeasuredConversation
from rolellm_agents.persona import Persona

ADA = Persona(id="ada", name="Ada", language="en", description="Ada keeps bees.")


def answers(*replies: str) -> list[AnsweredQuestion]:
    return [
        AnsweredQuestion(id=f"q{turn}", question="And what then?", reply=reply)
        for turn, reply in enumerate(replies)
    ]


def test_the_same_answer_again_repeats_and_has_no_distance() -> None:
    marks = marks_of(answers("The bees hum.", "I like rain.", "The bees hum."), ADA)
    assert "repeats_earlier" not in marks[0]
    assert marks[1]["repeats_earlier"] < 0.5
    assert marks[1]["style_distance"] > 0.5
    assert (marks[2]["repeats_earlier"], marks[2]["style_distance"]) == (1, 0)


def test_what_the_visitor_said_is_remembered_in_part_or_not() -> None:
    said = AnsweredQuestion(
        id="name", question="My name?", reply="You are MARTIN.", expects=("Martin", "Lisbon")
    )
    assert marks_of([said], ADA)[0]["remembers"] == 0.5


def test_an_answer_is_laid_beside_that_to_the_same_question() -> None:
    first, second = answers("I keep the bees.", "I keep the bees and the hives.")
    again = AnsweredQuestion(id="again", question="Once more?", reply="I keep the bees.", repeats="q0")
    marks = marks_of([first, second, again], ADA)
    assert marks[2]["same_as_before"] == 1
    assert "same_as_before" not in marks[1]


def test_talk_of_an_assistant_is_out_of_role_at_its_turn_alone() -> None:
    marks = marks_of(answers("I keep bees.", "As an AI language model, I have no bees."), ADA)
    assert [one["in_role"] for one in marks] == [1, 0]
    assert [one["ai_talk"] for one in marks] == [0, 1]


def test_an_empty_answer_has_words_and_role_and_nothing_else_to_measure() -> None:
    marks = marks_of(answers("I keep bees.", "  "), ADA)[1]
    assert (marks["words"], marks["empty"]) == (0, 1)
    assert not {"style_distance", "repeats_earlier"} & marks.keys()


@given(st.lists(st.text(max_size=60), min_size=1, max_size=5))
@examples(0.3)
def test_shares_and_distances_lie_between_nothing_and_one(replies: list[str]) -> None:
    for marks in marks_of(answers(*replies), ADA):
        for name, value in marks.items():
            assert math.isfinite(value)
            assert value >= 0
            assert name == "words" or value <= 1 + 1e-9


def measured(
    persona: str, number: int, values: Sequence[float], rotates: Sequence[bool]
) -> MeasuredConversation:
    return MeasuredConversation(persona, number, [{"x": value} for value in values], rotates)


@given(
    st.floats(-5, 5),
    st.floats(-5, 5),
    st.integers(2, 12),
)
@examples(0.3)
def test_the_slope_of_a_straight_line_is_its_own(start: float, step: float, turns: int) -> None:
    values = [start + step * turn for turn in range(turns)]
    (slope,) = slopes_of([measured("ada", 0, values, [False] * turns)])
    assert slope.interval.mean == pytest.approx(step, abs=1e-9)


def test_only_turns_whose_questions_change_places_count_for_the_slope() -> None:
    (slope,) = slopes_of([measured("ada", 0, [9, 0, 1, 2, -9], [False, True, True, True, False])])
    assert slope.interval.mean == 1


def test_figures_by_turn_are_means_whose_intervals_draw_personas() -> None:
    held = [
        measured("ada", 0, [0, 1], [False, True]),
        measured("ada", 1, [0, 1], [False, True]),
        measured("ben", 0, [1, 1], [False, True]),
    ]
    first, second = turn_figures(held)
    assert (first.turn, first.interval.n) == (1, 3)
    assert first.interval.mean == pytest.approx(1 / 3)
    assert (first.interval.low, first.interval.high) == (0, 1)
    assert (second.interval.low, second.interval.high) == (1, 1)


def test_of_one_persona_intervals_draw_interviews() -> None:
    held = [measured("ada", number, [float(number)], [True]) for number in range(4)]
    (figure,) = turn_figures(held)
    assert figure.interval.low is not None
    assert figure.interval.low < 1.5

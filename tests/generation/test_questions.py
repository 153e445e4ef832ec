"""The form of questions, and reading them out of whatever a model wrote."""

import json
from typing import Any

import jsonschema
import pytest
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.generation.questions import GeneratedQuestion, question_form, read_questions

GOOD = {
    "question": "Ada, why do you light the lamp yourself?",
    "line": 2,
    "reason": "It names the lamp.",
    "confidence": "high",
}


def read(value: Any, *, most: int = 5, lines: int = 3) -> list[GeneratedQuestion]:
    return read_questions(value if isinstance(value, str) else json.dumps(value), most=most, lines=lines)


def test_an_answer_in_the_form_is_read_whole() -> None:
    answer = {"questions": [GOOD, {**GOOD, "question": "Ada, who is Ben?", "confidence": "low"}]}
    jsonschema.validate(answer, question_form(2, 3))
    first, second = read(answer)
    assert first == GeneratedQuestion(
        "Ada, why do you light the lamp yourself?", "high", "It names the lamp.", 2
    )
    assert second.confidence == "low"


def test_the_form_bounds_questions_and_lines() -> None:
    form = question_form(2, 3)
    for wrong in ([GOOD] * 3, [], [{**GOOD, "line": 4}], [{**GOOD, "line": 0}], [{**GOOD, "why": ""}]):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"questions": wrong}, form)
    assert "line" not in json.dumps(question_form(1, 0))


@pytest.mark.parametrize(
    "answer",
    [
        [GOOD],
        GOOD,
        {"result": {"items": [GOOD]}},
        {"questions": {"1": GOOD}},
        "Sure!\n```json\n" + json.dumps({"questions": [GOOD]}) + "\n```\nAnything else?",
        json.dumps(GOOD) + "\n" + json.dumps(GOOD),
        {
            "questions": [
                {"Question": GOOD["question"], **{key: GOOD[key] for key in GOOD if key != "question"}}
            ]
        },
        str({"questions": [GOOD]}),
        json.dumps({"questions": [GOOD, GOOD]})[:-40],
    ],
)
def test_it_is_found_wherever_it_stands_and_taken_once(answer: Any) -> None:
    first, *others = read(answer)
    assert first == GeneratedQuestion(str(GOOD["question"]), "high", "It names the lamp.", 2)
    assert all(other.text != first.text for other in others)


@pytest.mark.parametrize(
    "answer", ["I would ask about the lamp.", "", "{}", "[]", '{"questions": []}', '{"question": 3}']
)
def test_prose_holds_no_question(answer: str) -> None:
    assert read(answer) == []


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ("High", "high"),
        ("very high", "high"),
        ("not sure", "low"),
        ("uncertain", "low"),
        (True, "high"),
        (0.9, "high"),
        (0.3, "low"),
        (8, "high"),
        (3, "low"),
        (95, "high"),
        ("95%", "high"),
        ("20%", "low"),
        (["high"], "high"),
        ("完整", "high"),
        ("不完整", "low"),
        (None, "low"),
        ({}, "low"),
        (-1, "low"),
        (1e9, "low"),
    ],
)
def test_confidence_is_read_from_words_and_figures(given_: Any, expected: str) -> None:
    assert read({**GOOD, "confidence": given_})[0].confidence == expected


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ("3", 3),
        ("line 2", 2),
        ([1, 2], 1),
        (2.0, 2),
        (4, None),
        (0, None),
        (True, None),
        ("x", None),
        ({}, None),
    ],
)
def test_a_line_is_one_of_the_segments_or_none(given_: Any, expected: int | None) -> None:
    assert read({**GOOD, "line": given_})[0].line == expected


def test_no_more_are_taken_than_asked_for_and_none_twice() -> None:
    many = [{**GOOD, "question": f"Ada, who is number {number}?"} for number in (1, 1, 2, 3, 4)]
    assert [question.text[-2] for question in read(many, most=3)] == ["1", "2", "3"]


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["question", "line", "confidence", "reason", "questions", "x"]), inner
        )
    ),
    max_leaves=12,
)


@examples(1.5)
@given(ANYTHING, st.integers(1, 4), st.integers(0, 4))
def test_wrong_types_never_fail_and_never_get_through(value: Any, most: int, lines: int) -> None:
    found = read(value, most=most, lines=lines)
    assert len(found) <= most
    for question in found:
        assert question.text == question.text.strip() != ""
        assert question.confidence in ("high", "low")
        assert question.line is None or 1 <= question.line <= lines
        assert isinstance(question.reason, str)

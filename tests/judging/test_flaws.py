"""Flaws are read out of whatever a critic writes; what names no line of the scene is dropped."""

import json
from typing import Any

import pytest
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from rolellm_agents.judging.flaws import (
    DIMENSIONS,
    LINES_AT_ONCE,
    Flaw,
    JudgedScene,
    JudgedSceneLine,
    flaw_question,
    flaw_score,
    parts_of,
    read_flaws,
)


def scene(lines: int = 4, language: Any = "en") -> JudgedScene:
    return JudgedScene(
        key="tea",
        title="Tea",
        setting="A kitchen.",
        language=language,
        people={"Ada": "Keeps a lighthouse.", "Ben": "Catches herring."},
        lines=tuple(JudgedSceneLine(("Ada", "Ben", "")[n % 3], f"Line {n + 1}.") for n in range(lines)),
    )


def entry(line: Any = 1, severity: Any = 3, flaw: Any = "She is flat.") -> dict[str, Any]:
    return {"flaw": flaw, "line": line, "severity": severity}


def read(said: str, lines: int = 4) -> tuple[list[tuple[int, str, int]], int] | None:
    found = read_flaws(said, scene(lines), range(1, lines + 1))
    if found is None:
        return None
    return [(flaw.line, flaw.speaker, flaw.severity) for flaw in found.flaws], found.dropped


def test_a_flaw_has_its_line_and_who_spoke_there() -> None:
    assert read(json.dumps({"flaws": [entry(2), entry(3, 5, "Nothing happens.")]})) == (
        [(2, "Ben", 3), (3, "", 5)],
        0,
    )


@pytest.mark.parametrize(
    "wrong",
    [
        *(entry(line=line) for line in (0, 5, -1, None, "x", 1.5, True)),
        *(entry(severity=severity) for severity in (0, 6, None, "severe", 2.5)),
        entry(flaw=""),
        entry(flaw=None),
        {},
    ],
)
def test_what_makes_no_sense_is_dropped_and_counted(wrong: dict[str, Any]) -> None:
    assert read(json.dumps({"flaws": [entry(1), wrong]})) == ([(1, "Ada", 3)], 1)


@pytest.mark.parametrize(
    "said",
    [
        '{"flaws": []}',
        "[]",
        '{"flaws": "none"}',
        'I looked closely.\n```json\n{"flaws": []}\n```',
    ],
)
def test_no_flaws_are_a_judgement(said: str) -> None:
    assert read(said) == ([], 0)


@pytest.mark.parametrize("said", ["", "It is a fine scene.", '{"score": 5}', "[1, 2]", '{"flaws": [3]}'])
def test_words_without_a_list_are_none(said: str) -> None:
    assert read(said) is None


def test_a_list_is_read_however_it_is_wrapped() -> None:
    for said in (
        json.dumps([entry()]),
        json.dumps(entry()),
        json.dumps({"fidelity": {"flaws": [entry()]}}),
        json.dumps({"flaws": [entry("1", "3")]}),
        json.dumps({"flaws": [entry()]})[:-2],
    ):
        assert read(said) == ([(1, "Ada", 3)], 0), said


@examples(1.5)
@given(
    st.text()
    | st.builds(
        json.dumps,
        st.recursive(
            st.none()
            | st.integers()
            | st.text(max_size=5)
            | st.floats(allow_nan=False, allow_infinity=False),
            lambda inner: (
                st.lists(inner, max_size=4)
                | st.dictionaries(
                    st.sampled_from(["flaws", "flaw", "line", "severity", "x"]), inner, max_size=4
                )
            ),
        ),
    ),
    st.integers(1, 9),
)
def test_any_text_gives_flaws_of_lines_that_there_are_or_none(said: str, lines: int) -> None:
    found = read_flaws(said, scene(lines), range(1, lines + 1))
    for flaw in found.flaws if found else ():
        assert 1 <= flaw.line <= lines
        assert 1 <= flaw.severity <= 5
        assert flaw.speaker == scene(lines).lines[flaw.line - 1].speaker


@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_question_numbers_the_lines_and_its_form_is_read_back(dimension: Any, language: Any) -> None:
    question = flaw_question(scene(language=language), dimension, range(1, 5))
    assert "1. Ada: Line 1." in question.text
    assert "3. [Line 3.]" in question.text
    assert f"judge-scene-{dimension}/{language}@1" in question.prompt
    told = {"flaws": [entry(4, 5, "It ends too soon.")]}
    Draft202012Validator(question.form).validate(told)
    found = question.read(json.dumps(told))
    assert found is not None
    assert found.flaws == (Flaw("It ends too soon.", 4, "Ada", 5),)
    assert not Draft202012Validator(question.form).is_valid({"flaws": [entry(5)]})


@given(st.integers(0, 300))
def test_every_line_is_looked_at_once(lines: int) -> None:
    parts = parts_of(scene(lines))
    assert [number for part in parts for number in part] == [*range(1, lines + 1)]
    assert all(len(part) <= LINES_AT_ONCE for part in parts)


def test_a_part_may_not_name_lines_of_the_part_before() -> None:
    part = range(41, 46)
    found = read_flaws(json.dumps({"flaws": [entry(40), entry(41)]}), scene(45), part)
    assert found is not None
    assert ([flaw.line for flaw in found.flaws], found.dropped) == ([41], 1)
    question = flaw_question(scene(45), "fidelity", part)
    assert "31. " in question.text, "a few lines before are shown, so that it can be understood"
    assert "\n30. " not in question.text


def test_a_score_is_a_hundred_less_five_for_what_is_more_than_a_scene_of_this_length_may_have() -> None:
    assert flaw_score([], 10) == 100
    assert flaw_score([5, 5], 10) == pytest.approx(100 - 5 * (10 - 3))
    assert flaw_score([5] * 50, 10) == 0
    assert flaw_score([3], 10) == 100


@given(st.lists(st.integers(1, 5)), st.integers(1, 5), st.integers(1, 200))
def test_another_flaw_never_raises_a_score_and_length_never_lowers_it(
    severities: list[int], more: int, lines: int
) -> None:
    score = flaw_score(severities, lines)
    assert 0 <= flaw_score([*severities, more], lines) <= score <= 100
    assert flaw_score(severities, lines + 1) >= score


@pytest.mark.parametrize("copied", ["… 1 to 5", "…(1 to 5)", "……1到5", "…", "a number"])
def test_a_critic_that_copies_the_form_has_found_nothing_and_is_not_scored(copied: str) -> None:
    nonsense = {"flaw": copied, "line": 1, "severity": 5}
    assert read_flaws(json.dumps({"flaws": [nonsense, nonsense]}), scene(2), range(1, 3)) is None
    real = {"flaw": "He knows what he was not told.", "line": 2, "severity": 3}
    found = read_flaws(json.dumps({"flaws": [nonsense, real]}), scene(2), range(1, 3))
    assert found is not None
    assert [flaw.line for flaw in found.flaws] == [2]
    assert found.dropped == 1

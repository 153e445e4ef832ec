"""Grades are read out of whatever a model writes, or not at all."""

import json
from importlib.resources import files
from pathlib import Path

import pytest
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from rolellm_agents.judging import ConversationTurn, Judged, JudgingError
from rolellm_agents.judging.grading import Grade, grade_question, read_grade, why_not_graded
from rolellm_agents.judging.rubrics import RUBRICS, RubricChoice, choose_rubrics, load_rubric
from rolellm_agents.persona import Demonstration, Knowledge, Persona
from rolellm_agents.text import one_line

ADA = Persona(
    id="ada",
    name="Ada",
    description="Ada keeps a {lighthouse}.",
    catchphrases=("By the lamp!",),
    demonstrations=(Demonstration(user="Cold?", reply="Only for those who sit."),),
    knowledge=(Knowledge(title="The storm", text="I lit the lamp in the great storm."),),
)
BAI = Persona(id="bai", name="李白", language="zh", description="诗人。")
OWN = """\
id: rhyme
version: 2
language: en
title: rhyme
looks_at: Whether it rhymes.
grades: [never, hardly, a little, mostly, all of it]
"""


def judged(reply: str = "By the lamp, no.", persona: Persona = ADA, turns: int = 1) -> Judged:
    before = [
        turn
        for n in range(turns - 1)
        for turn in (ConversationTurn("user", f"Q{n}"), ConversationTurn("persona", f"A{n}"))
    ]
    return Judged(
        key="k", persona=persona, turns=(*before, ConversationTurn("user", "Is it cold?")), reply=reply
    )


@pytest.mark.parametrize(
    ("said", "grade"),
    [
        ('{"reason": "Fits.", "grade": 4}', 4),
        ('Well:\n```json\n{"reason": "Fits.", "grade": "5"}\n```', 5),
        ('{"Reason": "Fits.", "Score": 2.0', 2),
        ('{"grade": "4/5"}', 4),
        ("I find it flat. Grade: 2", 2),
        ("**Grade**: 3", 3),
        ("My rating would be 3.", 3),
        ("4 out of 5, since it rhymes.", 4),
        ("4/5", 4),
        ("3", 3),
        ("评分：4", 4),
        ("给4分。", 4),
        ('{"理由": "不错", "评分": 3}', 3),
    ],
)
def test_a_grade_is_read_as_json_or_in_plain_words(said: str, grade: int) -> None:
    read = read_grade(said)
    assert read is not None
    assert read.grade == grade


@pytest.mark.parametrize(
    "said",
    [
        "",
        "I cannot say.",
        "In 1895 he had 3 pipes.",
        '{"reason": "Fits.", "grade": 7}',
        '{"reason": "Fits.", "grade": 0}',
        '{"grade": 4.5}',
        '{"grade": true}',
        '{"grade": null}',
        '{"grade": [4]}',
        "Grade: 45",
        "Grade: 4.5",
        "Grade: 80%",
        "Grade: 2 or grade: 4",
        "I would say 9 out of 5.",
    ],
)
def test_nonsense_is_no_grade(said: str) -> None:
    assert read_grade(said) is None


@examples(2)
@given(st.text() | st.builds(json.dumps, st.recursive(st.none() | st.integers() | st.text(), st.lists)))
def test_any_text_gives_a_grade_of_ours_or_none(said: str) -> None:
    read = read_grade(said)
    assert read is None or read.grade in (1, 2, 3, 4, 5)


@given(
    st.integers(1, 5),
    st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=60),
    st.text(max_size=20),
)
def test_a_form_that_is_kept_to_is_read_exactly(grade: int, reason: str, around: str) -> None:
    form = json.dumps({"reason": reason, "grade": grade})
    assert read_grade(form) == Grade(grade, one_line(reason, 800))
    opened = str.maketrans("", "", "{[")
    fenced = read_grade(f"{around.translate(opened)}\n{form}")
    assert fenced is not None
    assert fenced.grade == grade


def test_the_question_shows_the_part_the_talk_and_the_grades_and_hides_nothing_of_the_reply() -> None:
    question = grade_question(load_rubric("voice", "en"), judged("Cold {is} >>> not\x1b[31m the word."))
    for shown in ("Ada keeps a {lighthouse}.", "By the lamp!", "Only for those who sit.", "great storm"):
        assert shown in question.text
    assert "User: Is it cold?" in question.text
    assert "Cold {is} ››› not the word." in question.text
    assert "5: With the name taken away" in question.text
    assert question.prompt == "judge-rubric/en@1, voice/en@1"
    assert [*question.form["properties"]] == ["reason", "grade"], "the reason comes first"
    Draft202012Validator.check_schema(question.form)
    Draft202012Validator(question.form).validate({"reason": "It is hers.", "grade": 3})


def test_a_chinese_persona_is_judged_in_chinese() -> None:
    question = grade_question(load_rubric("voice", "zh"), judged("举杯邀明月。", BAI))
    assert "你来评判" in question.text
    assert question.prompt == "judge-rubric/zh@1, voice/zh@1"


def test_consistency_looks_at_all_turns_and_not_at_a_first_reply() -> None:
    consistency, voice = load_rubric("consistency", "en"), load_rubric("voice", "en")
    assert why_not_graded(consistency, judged())
    assert not why_not_graded(consistency, judged(turns=2))
    assert not why_not_graded(voice, judged())
    assert why_not_graded(voice, judged(" \n"))
    long = judged(turns=12)
    assert "Ada: A0" in grade_question(consistency, long).text
    assert "Ada: A0" not in grade_question(voice, long).text


def test_a_card_of_any_length_makes_a_question_that_a_judge_can_bear() -> None:
    long = ADA.model_copy(update={"description": "word " * 30_000})
    assert len(grade_question(load_rubric("voice", "en"), judged("x" * 100_000, long)).text) < 20_000


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_bundled_rubric_is_one_and_named_by_its_file(language: str) -> None:
    folder = files("rolellm_agents.judging") / "rubrics" / language
    assert {file.name for file in folder.iterdir()} == {f"{name}.yaml" for name in RUBRICS}
    for rubric in RubricChoice().in_language("zh" if language == "zh" else "en"):
        assert rubric.language == language
        assert len(set(rubric.grades)) == 5
        assert rubric.over_turns == (rubric.id == "consistency")


def test_a_person_can_name_rubrics_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "rhyme.yaml"
    file.write_text(OWN)
    choice = choose_rubrics(["voice", str(file)])
    assert choice.ids == ("voice", "rhyme")
    assert [one.name for one in choice.in_language("zh")] == ["voice/zh@1", "rhyme/en@2"]
    assert choose_rubrics().ids == RUBRICS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (OWN.replace("a little, ", ""), "grades"),
        (OWN.replace("version: 2", "version: 0"), "version"),
        (OWN.replace("id: rhyme", "id: preference"), "another judge's measure"),
        (OWN + "wieght: 3\n", "wieght"),
    ],
)
def test_a_rubric_that_cannot_be_used_is_told(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(JudgingError, match=said):
        choose_rubrics([str(file)])


def test_a_rubric_that_is_not_there_or_there_twice_is_told(tmp_path: Path) -> None:
    with pytest.raises(JudgingError, match="did you mean voice"):
        choose_rubrics(["voic"])
    with pytest.raises(JudgingError, match="cannot be read"):
        choose_rubrics([str(tmp_path / "none.yaml")])
    with pytest.raises(JudgingError, match="Two rubrics have the id 'voice'"):
        choose_rubrics(["voice", "voice"])

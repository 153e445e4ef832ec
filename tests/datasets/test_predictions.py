"""Replies from anywhere, and what they are compared with."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.hypotheses import examples
from helpers.samples import row, written_rows
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.datasets.predictions import PredictionSet, read_predictions
from rolellm_agents.errors import RoleBenchError

LAMP, OIL, DOOR = (
    row(role=role, question=question, generated=[answer])
    for role, question, answer in (
        ("Ada", "Who keeps the lamp?", "I do."),
        ("Ada", "Where is the oil?", "In the jug."),
        ("Ben", "Who is at the door?", "The wind."),
    )
)


def replies(answered: PredictionSet) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.answer.reply, tuple(one.answer.references)) for one in answered.scored]


def plain(file: Path, text: str, encoding: str = "utf-8") -> Path:
    file.write_bytes(text.encode(encoding))
    return file


def said(question: str, reply: str, role: str = "Ada", **fields: Any) -> dict[str, Any]:
    return {"role": role, "question": question, "reply": reply, **fields}


def test_rows_with_roles_and_questions_are_put_together_in_any_order(tmp_path: Path) -> None:
    predictions = written_rows(
        tmp_path / "p.jsonl",
        [
            said(" Who is at  the door?", "The cat.", "Ben"),
            said("Where is the oil?", "Gone."),
            said("Who keeps the lamp?", "Me."),
        ],
    )
    answered = read_predictions(predictions, written_rows(tmp_path / "r.jsonl", [LAMP, OIL, DOOR]))
    assert replies(answered) == [
        ("Me.", ("I do.",)),
        ("Gone.", ("In the jug.",)),
        ("The cat.", ("The wind.",)),
    ]
    assert answered.clusters == ["Ada", "Ada", "Ben"]
    assert answered.notes == []


def test_of_rows_that_ask_the_same_the_first_belongs_to_the_first(tmp_path: Path) -> None:
    predictions = [said("Who keeps the lamp?", "One."), said("Who keeps the lamp?", "Two.")]
    references = [LAMP, {**LAMP, "generated": ["You do."]}]
    answered = read_predictions(
        written_rows(tmp_path / "p.jsonl", predictions), written_rows(tmp_path / "r.jsonl", references)
    )
    assert replies(answered) == [("One.", ("I do.",)), ("Two.", ("You do.",))]


@pytest.mark.parametrize("key", ["prediction", "reply", "text", "generated"])
@pytest.mark.parametrize("as_list", [False, True])
def test_jsonl_from_elsewhere_is_put_together_line_by_line(tmp_path: Path, key: str, as_list: bool) -> None:
    predictions = [{key: [text] if as_list else text} for text in ("Me.", "Gone.")]
    references: list[dict[str, Any]] = [
        {"references": ["I do.", "", "I."]},
        {"reference": "In the jug."},
    ]
    answered = read_predictions(
        written_rows(tmp_path / "p.jsonl", predictions), written_rows(tmp_path / "r.jsonl", references)
    )
    assert replies(answered) == [("Me.", ("I do.", "I.")), ("Gone.", ("In the jug.",))]
    # Nobody knows who speaks: each stands alone.
    assert len(set(answered.clusters)) == 2


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_plain_text_has_one_text_a_line_in_whatever_encoding(
    tmp_path: Path, encoding: str, end: str
) -> None:
    text = end.join(["朕乃天子，尔等退下，朕要歇息。", "", "俺老孙来也！大闹天宫，谁敢拦我！", ""])
    predictions = plain(tmp_path / "p.txt", text, encoding)
    references = plain(tmp_path / "r.txt", "朕是天子。\n退下。\n俺老孙去也！\n")
    answered = read_predictions(predictions, references)
    assert replies(answered) == [
        ("朕乃天子，尔等退下，朕要歇息。", ("朕是天子。",)),
        ("", ("退下。",)),
        ("俺老孙来也！大闹天宫，谁敢拦我！", ("俺老孙去也！",)),
    ]
    assert {one.answer.language for one in answered.scored} == {"zh"}
    assert answered.empty == 1
    assert answered.notes == ["Empty replies, scored 0: 1 of 3."]


def test_the_language_is_what_is_said_by_whoever_is_nearest(tmp_path: Path) -> None:
    predictions = plain(tmp_path / "p.txt", "I do.\n天子。\n")
    references = written_rows(
        tmp_path / "rolebench-zh" / "general" / "r.jsonl",
        [{"references": "I do.", "language": "en"}, {"references": "朕是天子。"}],
    )
    answered = read_predictions(predictions, references)
    assert [one.answer.language for one in answered.scored] == ["en", "zh"]
    told = read_predictions(predictions, references, language="zh")
    assert [one.answer.language for one in told.scored] == ["zh", "zh"]


def test_references_in_another_language_are_told(tmp_path: Path) -> None:
    text = plain(tmp_path / "r.txt", "I keep the lamp and the oil.\nThe wind is at the door.\n朕是天子。\n")
    (note,) = read_predictions(text, text).notes
    assert note.startswith("With references in another language than they are scored in: 1 of 3 rows;")


def test_rows_without_a_reference_are_left_out_and_told(tmp_path: Path) -> None:
    predictions = written_rows(tmp_path / "p.jsonl", [{"reply": ["a", "b"]}, {"reply": []}])
    references = written_rows(tmp_path / "r.jsonl", [{"references": ["", " "]}, {"references": ["I do."]}])
    answered = read_predictions(predictions, references)
    assert replies(answered) == [("", ("I do.",))]
    assert answered.notes == [
        "Left out, because they have no reference: 1 of 2 rows.",
        "With several replies, of which the first is scored: 1 rows.",
        "Empty replies, scored 0: 1 of 1.",
    ]


def test_files_of_different_lengths_name_the_first_row_that_stands_alone(tmp_path: Path) -> None:
    one = plain(tmp_path / "p.txt", "a\nb\n")
    other = written_rows(tmp_path / "r.jsonl", [{"text": text} for text in "abcde"])
    for predictions, references in ((one, other), (other, one)):
        with pytest.raises(RoleBenchError) as raised:
            read_predictions(predictions, references)
        assert f"line 3 of {other} is the first of 3 rows without a counterpart" in str(raised.value)


def test_rows_that_do_not_fit_are_told_with_the_first_and_their_number(tmp_path: Path) -> None:
    predictions = written_rows(
        tmp_path / "p.jsonl",
        [said("Who keeps the lamp?", "Me."), said("Why?", "So."), said("When?", "Now.")],
    )
    references = written_rows(tmp_path / "r.jsonl", [LAMP, OIL])
    with pytest.raises(RoleBenchError) as raised:
        read_predictions(predictions, references)
    assert str(raised.value) == (
        f"The files do not fit together: line 2 of {predictions} (Ada: Why?) has no row in {references}, "
        "the first of 2 such rows, and "
        f"line 2 of {references} (Ada: Where is the oil?) has no row in {predictions}; "
        "--common scores those that both files have."
    )
    answered = read_predictions(predictions, references, only_common=True)
    assert replies(answered) == [("Me.", ("I do.",))]
    assert answered.notes == ["Left out, because only one of the files has them: 3 rows."]


def test_files_that_have_nothing_in_common_are_refused_even_so(tmp_path: Path) -> None:
    predictions = written_rows(tmp_path / "p.jsonl", [said("Why?", "So.")])
    references = written_rows(tmp_path / "r.jsonl", [LAMP])
    with pytest.raises(RoleBenchError, match="name files of the same test"):
        read_predictions(predictions, references, only_common=True)
    with pytest.raises(RoleBenchError, match="nobody can tell which are common"):
        read_predictions(plain(tmp_path / "p.txt", "So."), references, only_common=True)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", r"p\.jsonl is empty"),
        (" \n\n", r"p\.jsonl is empty"),
        (
            '{"reply": "a"}\n\n{"reply": 3}',
            "line 3: 'reply' is neither a text nor a list of texts; correct",
        ),
        ('{"reply": "a"}\n{"reply": ', "line 2: it is not JSON"),
        ('{"question": "a"}', "line 1: it has none of generated, prediction, reply, text; correct"),
        ("a\n", "line 1: it is not JSON"),
        ('[{"reply": "a"}]', "is one JSON list; write each of its objects on a line"),
        ("%PDF-1.4 \n", "is not text"),
    ],
)
def test_what_cannot_be_read_is_told_in_a_sentence(tmp_path: Path, content: str, complaint: str) -> None:
    predictions = plain(tmp_path / "p.jsonl", content)
    with pytest.raises(RoleBenchError, match=complaint) as raised:
        read_predictions(predictions, written_rows(tmp_path / "r.jsonl", [LAMP]))
    assert str(predictions) in str(raised.value)


def test_a_file_that_is_not_there_or_has_no_reference_is_told(tmp_path: Path) -> None:
    predictions = plain(tmp_path / "p.txt", "a\n")
    with pytest.raises(RoleBenchError, match=r"There is no file .*r\.jsonl"):
        read_predictions(predictions, tmp_path / "r.jsonl")
    with pytest.raises(RoleBenchError, match=r"No row of .* has a reference"):
        read_predictions(predictions, written_rows(tmp_path / "r.jsonl", [{"references": []}]))


ASKED = st.lists(
    st.tuples(st.sampled_from(["Ada", "Ben", "Cy"]), st.sampled_from(["Why?", "Where?", "Who is it?"])),
    min_size=1,
    max_size=8,
)


@examples(0.3)
@given(ASKED, st.randoms(use_true_random=False))
def test_every_reply_meets_its_own_question_however_the_rows_are_shuffled(
    tmp_path_factory: pytest.TempPathFactory, asked: list[tuple[str, str]], draw: Any
) -> None:
    folder = tmp_path_factory.mktemp("shuffled")
    shuffled = draw.sample(asked, len(asked))
    predictions = [said(question, f"{role} {question}", role) for role, question in shuffled]
    references = [row(role=role, question=question, generated=[question]) for role, question in asked]
    answered = read_predictions(
        written_rows(folder / "p.jsonl", predictions), written_rows(folder / "r.jsonl", references)
    )
    assert [(one.role, one.answer.reply) for one in answered.scored] == [
        (role, f"{role} {question}") for role, question in asked
    ]


def test_a_text_may_hold_marks_that_some_programs_end_lines_at(tmp_path: Path) -> None:
    file = plain(tmp_path / "p.jsonl", json.dumps({"text": "a\u2028b\x85c"}, ensure_ascii=False) + "\n")
    assert replies(read_predictions(file, file)) == [("a\u2028b\x85c", ("a\u2028b\x85c",))]

"""What people said of replies is read from JSONL, and what cannot be meant is refused with its line."""

import json
from pathlib import Path
from typing import Any

import pytest

from rolellm_agents.judging import JudgingError
from rolellm_agents.judging.human_labels import read_labels

REPLY = {"persona": "shrek", "question": "Cold?", "reply": "Aye."}
PAIR = {**REPLY, "other": "I am an AI."}


def write(file: Path, *rows: Any) -> Path:
    file.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")
    return file


def test_scores_and_preferences_of_one_or_several_people_are_read(tmp_path: Path) -> None:
    file = write(
        tmp_path / "labels.jsonl",
        {**REPLY, "score": 4},
        {**REPLY, "scores": {"Ana": 2, "Ben": 3.5}},
        {**PAIR, "preferred": "other"},
        {**PAIR, "preferred": {"Ana": "reply", "Ben": "tie"}},
    )
    found = read_labels(file)
    assert [one.value for one in found] == [4.0, 2.75, 0.0, 0.75]
    assert found[1].by_person == {"Ana": 2.0, "Ben": 3.5}
    assert [one.other for one in found] == [None, None, "I am an AI.", "I am an AI."]
    assert len({one.key for one in found}) == 4


@pytest.mark.parametrize(
    ("row", "what"),
    [
        (REPLY, "one of score, scores and preferred"),
        ({**REPLY, "scores": {}}, "one of score, scores and preferred"),
        ({**REPLY, "score": 3, "scores": {"Ana": 3}}, "one of score, scores and preferred"),
        ({**REPLY, "preferred": "reply"}, "preferred requires other"),
        ({**PAIR, "score": 3}, "preferred requires other"),
        ({**PAIR, "preferred": "mine"}, "preferred"),
        ({**REPLY, "score": True}, "score"),
        ({**REPLY, "score": "4"}, "score"),
        ({**REPLY, "score": 10**400}, "score"),
        ({**REPLY, "score": 4, "reply": ""}, "reply"),
        ({**REPLY, "score": 4, "rater": "Ana"}, "rater"),
        ({"persona": "shrek", "question": "Cold?", "score": 4}, "reply"),
        ([4], "it is not a JSON object"),
    ],
)
def test_a_line_that_cannot_be_meant_is_named(tmp_path: Path, row: Any, what: str) -> None:
    file = write(tmp_path / "labels.jsonl", {**REPLY, "score": 4}, row)
    with pytest.raises(JudgingError, match=f"line 2: .*{what}"):
        read_labels(file)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_a_score_is_a_number(tmp_path: Path, number: str) -> None:
    file = tmp_path / "labels.jsonl"
    file.write_text(
        f'{{"persona": "shrek", "question": "Cold?", "reply": "Aye.", "score": {number}}}\n',
        encoding="utf-8",
    )
    with pytest.raises(JudgingError, match="line 1"):
        read_labels(file)


def test_a_file_without_labels_is_refused(tmp_path: Path) -> None:
    with pytest.raises(JudgingError, match="holds no labels"):
        read_labels(write(tmp_path / "labels.jsonl"))


def test_conversations_and_described_characters_are_read(tmp_path: Path) -> None:
    mira = {"name": "Mira", "description": "A lighthouse keeper who counts ships."}
    file = write(
        tmp_path / "labels.jsonl",
        {
            "character": mira,
            "turns": ["Hello?", "Aye.", "Who?"],
            "reply": "I.",
            "score": 3,
            "aspect": "memory",
        },
    )
    (found,) = read_labels(file)
    assert [turn.speaker for turn in found.turns] == ["user", "persona", "user"]
    assert (found.persona, found.aspect) == ("Mira", "memory")
    assert found.described is not None
    assert (found.described.name, found.described.description) == (mira["name"], mira["description"])


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ({"turns": ["Hello?", "Aye."]}, "end with the user"),
        ({"turns": ["Hello?"], "question": "Hello?"}, "either question or turns"),
        ({}, "either question or turns"),
        ({"question": "Hello?", "character": {}}, "either persona or character"),
        ({"question": "Hello?", "persona": None, "character": {"name": "Mira"}}, "description"),
    ],
)
def test_turns_that_cannot_be_meant_are_refused(tmp_path: Path, row: dict[str, Any], what: str) -> None:
    whole = {"persona": "shrek", "reply": "Aye.", "score": 1, **row}
    file = write(
        tmp_path / "labels.jsonl", {key: value for key, value in whole.items() if value is not None}
    )
    with pytest.raises(JudgingError, match=what):
        read_labels(file)

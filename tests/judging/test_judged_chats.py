"""What is judged of conversations, played scenes and files of replies."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.played_scene import SECRETS, play, tea_party
from helpers.transcripts import PERSONA, say

from rolellm_agents.errors import PersonaError, RoleBenchError
from rolellm_agents.judging import ConversationTurn, JudgingError
from rolellm_agents.judging.chats import judged_of_chat, played_scene, scene_of_chat
from rolellm_agents.judging.flaws import JudgedSceneLine
from rolellm_agents.judging.predictions import pair_replies, read_predictions
from rolellm_agents.persona import Persona
from rolellm_agents.scene.export import uncast
from rolellm_agents.transcript import Message, Transcript
from rolellm_agents.transcript.store import MAIN

ADA = Persona(id=PERSONA, name="Ada", description="Ada knows {{user}}.")


def chat(*said: tuple[str, str]) -> list[Message]:
    with Transcript(None) as transcript:
        conversation = transcript.create_conversation(PERSONA)
        parent = None
        for speaker, text in said:
            parent = say(transcript, conversation, parent, text, speaker=speaker).id
        return transcript.path(conversation, MAIN)


def file_of(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def row(question: str, *replies: str, role: str = "Ada") -> dict[str, Any]:
    return {"role": role, "question": question, "generated": [*replies]}


def find(name: str) -> Persona:
    if name != "Ada":
        raise PersonaError(f"There is no {name}.")
    return ADA


def test_each_answer_is_judged_with_what_was_said_before_it() -> None:
    path = chat(
        (PERSONA, "Good day."), ("user", "Cold?"), (PERSONA, "No."), ("user", "Late?"), (PERSONA, "")
    )
    judged = judged_of_chat(ADA, path, user="Ben", prefix="c")
    assert [(one.key, one.question, one.reply) for one in judged] == [
        ("c/3", "Cold?", "No."),
        ("c/5", "Late?", ""),
    ]
    assert judged[1].turns[:2] == (
        ConversationTurn("persona", "Good day."),
        ConversationTurn("user", "Cold?"),
    )
    assert judged[0].persona.description == "Ada knows Ben."


def test_a_chat_is_a_scene_of_two() -> None:
    told = scene_of_chat(ADA, chat(("user", "Cold?"), (PERSONA, "No.")), user="Ben", key="c")
    assert told.lines == (JudgedSceneLine("Ben", "Cold?"), JudgedSceneLine("Ada", "No."))
    assert told.people == {"Ada": "Ada knows Ben."}


def test_a_played_scene_is_told_with_who_is_in_it_and_what_they_hide() -> None:
    loaded = tea_party()
    lines = play(
        loaded,
        ("narrator", "narrate", "It rains."),
        ("ada", "say", "Tea?"),
        ("cole", "whisper", "Now.", "ada"),
    )
    told = played_scene(uncast(loaded.scene), lines, "k")
    assert told.lines[:2] == (JudgedSceneLine("", "It rains."), JudgedSceneLine("Ada Byron", "Tea?"))
    assert told.lines[2].speaker == "Dr. Cole"
    assert "Now." in told.lines[2].text
    assert "Ada Byron" in told.lines[2].text, "to whom it was whispered belongs to it"
    assert SECRETS[0] in told.people["Ada Byron"]
    assert told.spoken == 2


def test_replies_are_read_with_empty_ones_and_references(tmp_path: Path) -> None:
    file = file_of(
        tmp_path / "a.jsonl", row("Cold?", "No."), row("Late?", ""), row("Hm?", "x", role="Nobody")
    )
    good = file_of(tmp_path / "test.jsonl", row(" Cold? ", "Never.", "Not I."))
    found = read_predictions(file, find, [good])
    assert [(one.question, one.reply, one.references) for one in found.judged] == [
        ("Cold?", "No.", ("Never.", "Not I.")),
        ("Late?", "", ()),
    ]
    assert found.unknown == {"Nobody": 1}


def test_two_systems_are_laid_side_by_side_by_what_they_were_asked(tmp_path: Path) -> None:
    first = file_of(tmp_path / "a.jsonl", row("Cold?", "A1"), row("Cold?", "A2"), row("Late?", "A3"))
    second = file_of(tmp_path / "b.jsonl", row("Late?", "B3"), row("Cold?", "B1"), row("Who?", "B4"))
    paired = pair_replies(*(read_predictions(file, find).judged for file in (first, second)))
    assert [(one.reply, other.reply) for one, other in paired.pairs] == [("A1", "B1"), ("A3", "B3")]
    assert paired.alone == (1, 1)


def test_files_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    with pytest.raises(JudgingError, match="it has Nobody"):
        read_predictions(file_of(tmp_path / "a.jsonl", row("Hm?", "x", role="Nobody")), find)
    with pytest.raises(JudgingError, match="line 1: 'question' is not a text"):
        read_predictions(file_of(tmp_path / "b.jsonl", {"role": "Ada", "generated": []}), find)
    with pytest.raises(RoleBenchError, match="no file"):
        read_predictions(tmp_path / "none.jsonl", find)
    with pytest.raises(JudgingError, match="no replies"):
        read_predictions(file_of(tmp_path / "c.jsonl"), find)

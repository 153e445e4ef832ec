"""A scene as a group chat of SillyTavern."""

import json
from typing import Any

from helpers.played_scene import play, tea_party

from rolellm_agents.chat_files.recognising import conversations_in
from rolellm_agents.scene.export import write_sillytavern_group


def test_a_group_chat_has_a_header_and_a_message_for_each_line() -> None:
    loaded = tea_party()
    lines = play(
        loaded,
        ("narrator", "narrate", "Steam rises."),
        ("ada", "say", "Tea?"),
        ("baker", "whisper", "Not for him.", "ada"),
        ("cole", "think", "They whisper."),
        ("cole", "act", "stirs"),
        ("dora", "join", "Dora comes in."),
    )
    lines[1]["made_by"]["model"] = "openai:some"

    text = write_sillytavern_group(loaded, lines, {lines[0]["id"]: "2026-01-02T03:04:05.000Z"})

    header, *messages = (json.loads(line) for line in text.splitlines())
    assert header == {
        "user_name": "The Baker",
        "character_name": "unused",
        "create_date": "2026-01-02T03:04:05.000Z",
        "chat_metadata": {"rolellm": {"scene": "tea", "title": "Tea & <Letters>"}},
    }
    all_three = ["ada", "baker", "cole"]
    assert messages[:3] == [
        {
            "name": "Narrator",
            "is_user": False,
            "is_system": False,
            "send_date": "2026-01-02T03:04:05.000Z",
            "mes": "Steam rises.",
            "extra": {
                "type": "narrator",
                "rolellm": {"seat": "narrator", "kind": "narrate", "audience": all_three},
            },
        },
        {
            "name": "Ada Byron",
            "is_user": False,
            "is_system": False,
            "send_date": "",
            "mes": "Tea?",
            "extra": {
                "model": "openai:some",
                "rolellm": {"seat": "ada", "kind": "say", "audience": all_three},
            },
            "original_avatar": "Ada Byron.png",
        },
        {
            "name": "The Baker",
            "is_user": True,
            "is_system": False,
            "send_date": "",
            "mes": "(whispers to Ada Byron) Not for him.",
            "extra": {"rolellm": {"seat": "baker", "kind": "whisper", "audience": ["ada", "baker"]}},
        },
    ]
    assert [(one["name"], one["mes"], one["extra"].get("type")) for one in messages[3:]] == [
        ("Dr. Cole", "(thinks) They whisper.", None),
        ("Dr. Cole", "*stirs*", None),
        ("Narrator", "Dora comes in.", "narrator"),
    ]


def test_without_a_person_nobody_is_the_user() -> None:
    loaded = tea_party(cast=[{"id": "ada", "name": "Ada"}])

    header, message = messages_of(write_sillytavern_group(loaded, play(loaded, ("ada", "say", "Alone."))))

    assert header["user_name"] == "unused"
    assert message["is_user"] is False


def test_read_again_it_is_a_chat_with_the_first_who_speaks() -> None:
    """What is lost: audiences and kinds; they stay in the marks of the words, and beside the message."""
    loaded = tea_party()
    lines = play(
        loaded,
        ("narrator", "narrate", "Steam rises."),
        ("cole", "whisper", "Now.", "ada"),
        ("baker", "say", "What?"),
    )

    (found,) = conversations_in(write_sillytavern_group(loaded, lines), "FILE")
    record = found.read("dr-cole")

    assert found.persona == "Dr. Cole"
    assert [(one.speaker, one.kind, one.text) for one in record.messages] == [
        ("narrator", "narrate", "Steam rises."),
        ("dr-cole", "say", "(whispers to Ada Byron) Now."),
        ("user", "say", "What?"),
    ]
    kept = record.messages[1].made_by["sillytavern"]["message"]["extra"]["rolellm"]
    assert kept == {"seat": "cole", "kind": "whisper", "audience": ["ada", "cole"]}


def messages_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]

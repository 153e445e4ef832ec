"""Conversations as files: what goes out, what comes in, and that nothing is lost between."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.transcripts import say

from rolellm_agents.chat_files import EXPORT_FORMATS, ExportFormat, export_conversation, import_chat_file
from rolellm_agents.errors import ChatFileError, PersonaError
from rolellm_agents.transcript import Transcript

SHREK = "shrek"
BOTH = ("user", SHREK)

HEADER: dict[str, Any] = {
    "user_name": "Ada",
    "character_name": "Shrek",
    "create_date": "2024-05-01@10h30m05s",
    "chat_metadata": {"integrity": "0e3c", "note_prompt": "Be rude.", "timedWorldInfo": {"sticky": {}}},
}
CHAT: list[dict[str, Any]] = [
    HEADER,
    {
        "name": "Shrek",
        "is_user": False,
        "is_system": False,
        "send_date": "May 1, 2024 10:30am",
        "mes": "What are you doing in my swamp?",
        "extra": {},
        "swipe_id": 1,
        "swipes": ["Get out!", "What are you doing in my swamp?", "Hm?"],
        "swipe_info": [
            {"send_date": "2024-05-01T10:30:00.000Z", "extra": {"api": "x"}},
            {"send_date": "2024-05-01T10:30:09.000Z", "gen_id": 5, "extra": {}},
            {},
        ],
    },
    {
        "name": "Ada",
        "is_user": True,
        "is_system": False,
        "send_date": "2024-05-01 @10h 31m 2s 7ms",
        "mes": "Looking for mud.\n\n*smiles* 泥",
        "extra": {"bias": "", "isSmallSys": False},
        "force_avatar": "ada.png",
    },
    {
        "name": "Shrek",
        "is_user": False,
        "is_system": True,
        "send_date": "2024-05-01T10:32:00.000Z",
        "mes": "Hidden.",
        "extra": {"reasoning": "because", "token_count": 3},
        "title": "",
    },
    {
        "name": "Note",
        "is_user": False,
        "is_system": True,
        "mes": "It rains.",
        "extra": {"type": "narrator"},
    },
    {
        "name": "Donkey",
        "is_user": False,
        "send_date": 1714559600000,
        "mes": "Parfait!",
        "swipes": ["Parfait!"],
    },
]


@pytest.fixture
def transcript() -> Iterator[Transcript]:
    with Transcript() as opened:
        yield opened


def lines(values: list[Any]) -> str:
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)


def exported(
    transcript: Transcript, conversation: str, format_: ExportFormat, *, everything: bool = False
) -> str:
    return export_conversation(
        transcript.record(conversation), format_, user_name="Ada", everything=everything
    )


def imported(transcript: Transcript, tmp_path: Path, text: str, persona: str | None = None) -> str:
    file = tmp_path / "chat.file"
    file.write_text(text, encoding="utf-8")
    (one,) = import_chat_file(file, transcript, persona)
    return one.id


def a_conversation(transcript: Transcript) -> str:
    """A line with two answers, the first of which stands, and one that was cut after it."""
    conversation = transcript.create_conversation(SHREK)
    line = say(transcript, conversation, None, "Who are\nyou?")
    made_by = {"model": "m", "prompt": "0123456789abcdef"}
    first = transcript.begin(conversation, line.id, speaker=SHREK, audience=BOTH, made_by=made_by)
    transcript.end(first, "An **ogre**. \x1b[31m\u202eRed", "complete", {"output_tokens": 3}, {"seed": 1})
    say(transcript, conversation, line.id, "Go away.", speaker=SHREK)
    transcript.append(
        conversation,
        None,
        speaker="user",
        audience=BOTH,
        text="And who?",
        made_by={"edited": line.id},
        branch="b",
    )
    transcript.move_branch(conversation, first)
    cut = transcript.begin(conversation, first, speaker=SHREK, audience=BOTH)
    transcript.add_piece(cut, "I sa")
    return conversation


# Our own JSON


def test_our_json_holds_every_branch_and_comes_back_as_the_same_bytes(
    transcript: Transcript, tmp_path: Path
) -> None:
    conversation = a_conversation(transcript)
    transcript.rename(conversation, "In the swamp")
    transcript.archive(conversation)
    text = exported(transcript, conversation, "json", everything=True)

    again = imported(transcript, tmp_path, text)

    assert exported(transcript, again, "json", everything=True) == text
    assert [message.text for message in transcript.path(again)] == [
        message.text for message in transcript.path(conversation)
    ]
    assert len(transcript.messages(again)) == 5
    edited = next(message for message in transcript.messages(again) if "edited" in message.made_by)
    assert transcript.message(edited.made_by["edited"]).conversation == again


def test_our_json_as_it_stands_holds_only_what_stands(transcript: Transcript, tmp_path: Path) -> None:
    conversation = a_conversation(transcript)

    document = json.loads(exported(transcript, conversation, "json"))

    assert [(message["number"], message["parent"]) for message in document["messages"]] == [
        (1, None),
        (2, 1),
        (3, 2),
    ]
    assert document["branches"] == {"main": 3}


def test_a_file_is_safe_to_print(transcript: Transcript) -> None:
    conversation = a_conversation(transcript)

    for format_ in EXPORT_FORMATS:
        text = exported(transcript, conversation, format_)
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_a_conversation_can_be_given_to_another_persona(transcript: Transcript, tmp_path: Path) -> None:
    text = exported(transcript, a_conversation(transcript), "json", everything=True)

    given = transcript.record(imported(transcript, tmp_path, text, "li-bai"))

    assert given.persona == "li-bai"
    assert {message.speaker for message in given.messages} == {"user", "li-bai"}
    assert {message.audience for message in given.messages} == {("user", "li-bai"), ("user", "ada")}


# Markdown


def test_markdown_is_for_reading(transcript: Transcript) -> None:
    conversation = a_conversation(transcript)
    transcript.rename(conversation, "In the swamp")
    created = transcript.find_conversation(conversation).created[:10]

    assert exported(transcript, conversation, "markdown") == (
        f"# In the swamp\n\n*Shrek, {created}*\n\n"
        "**Ada**:\n\nWho are\nyou?\n\n"
        "**Shrek**:\n\nAn **ogre**. Red\n\n"
        "**Shrek** (cut off):\n\nI sa\n"
    )


# SillyTavern


def test_a_sillytavern_chat_goes_out_as_it_came_in(transcript: Transcript, tmp_path: Path) -> None:
    conversation = imported(transcript, tmp_path, lines(CHAT))

    back = [json.loads(line) for line in exported(transcript, conversation, "sillytavern").splitlines()]

    assert back[:4] == CHAT[:4]
    # What was missing is filled in, and nothing else differs.
    for out, original in zip(back[4:], CHAT[4:], strict=True):
        assert {key: out[key] for key in original} == original
        assert set(out) - set(original) <= {"is_system", "send_date", "extra", "swipe_id"}
    assert exported(transcript, imported(transcript, tmp_path, lines(back)), "sillytavern") == exported(
        transcript, conversation, "sillytavern"
    )


def test_a_sillytavern_chat_is_a_conversation_with_its_swipes_as_siblings(
    transcript: Transcript, tmp_path: Path
) -> None:
    conversation = imported(transcript, tmp_path, lines(CHAT))

    path = transcript.path(conversation)
    assert [(message.speaker, message.kind) for message in path] == [
        ("shrek", "say"),
        ("user", "say"),
        ("shrek", "say"),
        ("note", "narrate"),
        ("donkey", "say"),
    ]
    assert [swipe.text for swipe in transcript.siblings(path[0].id)] == CHAT[1]["swipes"]
    assert [message.created for message in path] == [
        "2024-05-01T10:30:00.000Z",
        "2024-05-01T10:31:02.007Z",
        "2024-05-01T10:32:00.000Z",
        "2024-05-01T10:32:00.000Z",
        "2024-05-01T10:33:20.000Z",
    ]
    assert path[0].audience == ("user", "shrek", "note", "donkey")
    assert transcript.find_conversation(conversation).created == "2024-05-01T10:30:05.000Z"


def test_our_swipes_are_swipes_in_sillytavern(transcript: Transcript, tmp_path: Path) -> None:
    conversation = a_conversation(transcript)

    text = exported(transcript, conversation, "sillytavern")
    header, line, answer, _ = (json.loads(one) for one in text.splitlines())

    assert (header["user_name"], header["character_name"], header["chat_metadata"]) == ("Ada", "Shrek", {})
    assert (line["name"], line["is_user"], line["mes"]) == ("Ada", True, "Who are\nyou?")
    assert (line["swipes"], line["swipe_id"]) == (["Who are\nyou?", "And who?"], 0)
    assert (answer["name"], answer["is_user"], answer["swipe_id"]) == ("Shrek", False, 0)
    assert answer["swipes"] == ["An **ogre**. \x1b[31m\u202eRed", "Go away."]
    assert [info["extra"] for info in answer["swipe_info"]] == [{"model": "m"}, {}]
    again = imported(transcript, tmp_path, text)
    assert exported(transcript, again, "sillytavern") == text


@pytest.mark.parametrize(
    ("swipes", "swipe_id", "siblings", "stands"),
    [
        (["a", "b"], 0, ["a", "b"], 0),
        (["a", "b"], 1, ["a", "b", "a"], None),
        (["b", "c"], 0, ["b", "c", "a"], 2),
        (["b", "a"], 7, ["b", "a"], 1),
        (["b", "a"], None, ["b", "a"], 1),
        ([], 0, ["a"], 0),
        ("none", 0, ["a"], 0),
        ([1, 2], 0, ["a"], 0),
    ],
)
def test_what_stands_is_the_message_whatever_its_swipes_say(
    transcript: Transcript,
    tmp_path: Path,
    swipes: object,
    swipe_id: object,
    siblings: list[str],
    stands: int | None,
) -> None:
    message = {"name": "Shrek", "is_user": False, "mes": "a", "swipes": swipes, "swipe_id": swipe_id}

    conversation = imported(transcript, tmp_path, lines([HEADER, message]))

    (shown,) = transcript.path(conversation)
    assert shown.text == "a"
    found = [one.id for one in transcript.siblings(shown.id)]
    if stands is not None:
        assert [one.text for one in transcript.siblings(shown.id)] == siblings
        assert found.index(shown.id) == stands


def test_a_chat_whose_first_line_is_unused_or_missing_is_with_whom_its_messages_name(
    transcript: Transcript, tmp_path: Path
) -> None:
    unused = {**HEADER, "character_name": "unused", "user_name": "unused"}
    for chat in ([unused, *CHAT[1:]], CHAT[1:]):
        assert transcript.record(imported(transcript, tmp_path, lines(chat))).persona == SHREK


# ShareGPT


def test_sharegpt_goes_out_as_it_came_in(transcript: Transcript, tmp_path: Path) -> None:
    document = {
        "id": "abc",
        "conversations": [
            {"from": "system", "value": "You are Shrek."},
            {"from": "human", "value": "Hi", "weight": 0},
            {"from": "gpt", "value": "Get out!"},
            {"from": "system", "value": "It rains."},
            {"from": "user", "value": ""},
        ],
        "source": {"name": "x"},
    }

    conversation = imported(transcript, tmp_path, json.dumps(document), "shrek")

    assert json.loads(exported(transcript, conversation, "sharegpt")) == document
    assert [(one.speaker, one.kind, one.text) for one in transcript.path(conversation)] == [
        ("user", "say", "Hi"),
        ("shrek", "say", "Get out!"),
        ("shrek", "narrate", "It rains."),
        ("user", "say", ""),
    ]


def test_our_conversation_in_sharegpt_tells_whom_it_is_with(transcript: Transcript, tmp_path: Path) -> None:
    text = exported(transcript, a_conversation(transcript), "sharegpt")

    assert json.loads(text) == {
        "persona": "shrek",
        "conversations": [
            {"from": "human", "value": "Who are\nyou?"},
            {"from": "gpt", "value": "An **ogre**. \x1b[31m\u202eRed"},
            {"from": "gpt", "value": "I sa"},
        ],
    }
    assert exported(transcript, imported(transcript, tmp_path, text), "sharegpt") == text


@pytest.mark.parametrize("join", ["\n", "\n\n", "\r\n", ","])
def test_a_file_may_hold_many_conversations(transcript: Transcript, tmp_path: Path, join: str) -> None:
    one = {"persona": "Shrek", "conversations": [{"from": "human", "value": "Hi\u2028there"}]}
    other = {"persona": "li-bai", "conversations": [{"from": "human", "value": "你好"}]}
    text = join.join(json.dumps(value, ensure_ascii=False) for value in (one, other))
    file = tmp_path / "many.jsonl"
    file.write_text(f"[{text}]" if join == "," else text, encoding="utf-8", newline="")

    found = import_chat_file(file, transcript)

    assert [(one.persona, one.messages, one.format) for one in found] == [
        ("shrek", 1, "sharegpt"),
        ("li-bai", 1, "sharegpt"),
    ]
    assert transcript.path(found[0].id)[0].text == "Hi\u2028there"


# Whom it is with


def test_the_persona_is_found_by_name_or_asked_for(transcript: Transcript, tmp_path: Path) -> None:
    stranger = lines([{**HEADER, "character_name": "Zaphod.yaml"}, CHAT[2]])

    with pytest.raises(
        ChatFileError, match=r"is with 'Zaphod\.yaml', which is not among your personas; .*--persona"
    ):
        imported(transcript, tmp_path, stranger)
    with pytest.raises(ChatFileError, match=r"does not name its persona; .*--persona"):
        imported(transcript, tmp_path, '{"conversations": [{"from": "human", "value": "Hi"}]}')
    with pytest.raises(PersonaError, match="There is no persona 'zaphod'"):
        imported(transcript, tmp_path, stranger, "zaphod")

    assert transcript.record(imported(transcript, tmp_path, stranger, "李白")).persona == "li-bai"


def test_a_name_in_a_file_is_never_a_path(
    transcript: Transcript, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.yaml").write_text("id: evil\nname: Evil\ndescription: Evil.\n")

    with pytest.raises(ChatFileError, match="which is not among your personas"):
        imported(transcript, tmp_path, lines([{**HEADER, "character_name": "evil.yaml"}, CHAT[2]]))


def test_only_our_json_holds_every_branch(transcript: Transcript) -> None:
    conversation = a_conversation(transcript)

    for format_ in EXPORT_FORMATS:
        if format_ != "json":
            with pytest.raises(ChatFileError, match="cannot hold every branch"):
                exported(transcript, conversation, format_, everything=True)

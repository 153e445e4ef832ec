"""Round trips: what goes out comes in again, whatever the conversation."""

import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.chat_files import ExportFormat, export_conversation
from rolellm_agents.chat_files.recognising import conversations_in
from rolellm_agents.transcript import ConversationRecord, Message, Transcript
from rolellm_agents.transcript.message import KINDS

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text(max_size=5), VALUES, max_size=3)
TEXTS = st.text(max_size=30) | st.sampled_from(["", "\r\n", "\x00\x1b[0m\u202e", "一\u2028二", '"mes"'])
TIMES = st.datetimes().map(lambda moment: f"{moment.isoformat(timespec='milliseconds')}Z")


@st.composite
def records(draw: st.DrawFn) -> ConversationRecord:
    """A tree with branches, as a transcript hands it out."""
    messages: list[Message] = []
    for number in range(draw(st.integers(1, 7))):
        made_by = draw(OBJECTS)
        if number and draw(st.booleans()):
            made_by["edited"] = str(draw(st.integers(0, number - 1)))
        parents = [None, *(message.id for message in messages)]
        messages.append(
            Message(
                id=str(number),
                conversation="",
                parent=draw(st.sampled_from(parents)),
                speaker=draw(st.sampled_from(["user", "shrek", "donkey"])),
                audience=tuple(draw(st.lists(st.sampled_from(["user", "shrek", "donkey"]), max_size=3))),
                kind=draw(st.sampled_from(KINDS)),
                text=draw(TEXTS),
                status=draw(st.sampled_from(["complete", "stopped", "failed", "cut"])),
                made_by=made_by,
                usage=draw(st.none() | OBJECTS.filter(bool)),
                created=draw(TIMES),
            )
        )
    heads = st.sampled_from([None, *(message.id for message in messages)])
    branches = {"main": draw(heads), **draw(st.dictionaries(TEXTS, heads, max_size=2))}
    return ConversationRecord(
        persona="shrek",
        created=draw(TIMES),
        title=draw(TEXTS),
        archived=draw(st.booleans()),
        extensions=draw(OBJECTS),
        messages=tuple(messages),
        branches=branches,
        branch=draw(st.sampled_from(sorted(branches))),
    )


def through_a_transcript(record: ConversationRecord) -> ConversationRecord:
    with Transcript() as transcript:
        return transcript.record(transcript.add_record(record))


def written(record: ConversationRecord, format_: ExportFormat, *, everything: bool = False) -> str:
    return export_conversation(record, format_, user_name="Ada", everything=everything)


def read(text: str) -> ConversationRecord:
    (found,) = conversations_in(text, "FILE")
    return found.read("shrek")


@given(records())
def test_our_json_out_in_and_out_again_is_the_same_bytes(record: ConversationRecord) -> None:
    stored = through_a_transcript(replace(record, messages=tuple(_without_unstorable(record))))
    text = written(stored, "json", everything=True)

    assert written(read(text), "json", everything=True) == text
    assert written(through_a_transcript(read(text)), "json", everything=True) == text


def _without_unstorable(record: ConversationRecord) -> list[Message]:
    """Cut messages have no usage: it comes with the end."""
    return [
        replace(message, usage=None) if message.status == "cut" else message for message in record.messages
    ]


@given(records(), st.sampled_from(["sillytavern", "sharegpt"]))
def test_the_other_formats_settle_after_one_round(
    record: ConversationRecord, format_: ExportFormat
) -> None:
    """What they cannot hold is gone after the first; what they hold stays, with the words and swipes."""
    if record.branches[record.branch] is None:
        return
    text = written(record, format_)

    again = read(text)

    assert written(through_a_transcript(again), format_) == text
    path = _path(record)
    assert [message.text for message in _path(again)] == [message.text for message in path]
    if format_ == "sillytavern":
        assert [one.speaker for one in _path(again)] == [one.speaker for one in path]
        assert [_swipes(again, message) for message in _path(again)] == [
            _swipes(record, message) for message in path
        ]


FIELDS = st.dictionaries(
    st.text(max_size=6).filter(
        lambda key: key not in ("mes", "swipes", "swipe_id", "swipe_info", "format")
    ),
    VALUES,
    max_size=3,
)


@st.composite
def chats(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A SillyTavern chat as that program writes it, with fields that nobody knows."""
    chat: list[dict[str, Any]] = [
        {
            **draw(FIELDS),
            "user_name": "Ada",
            "character_name": "Shrek",
            "create_date": draw(st.text(max_size=9)),
            "chat_metadata": draw(OBJECTS),
        }
    ]
    for _ in range(draw(st.integers(1, 5))):
        message = {
            **draw(FIELDS),
            "name": draw(st.sampled_from(["Ada", "Shrek", "Donkey"])),
            "is_user": draw(st.booleans()),
            "is_system": draw(st.booleans()),
            "send_date": draw(st.text(max_size=9) | TIMES | st.integers()),
            "extra": draw(OBJECTS),
            "mes": draw(TEXTS),
        }
        if draw(st.booleans()):
            swipes = draw(st.lists(TEXTS, min_size=1, max_size=4))
            chosen = draw(st.integers(0, len(swipes) - 1))
            message |= {"swipes": swipes, "swipe_id": chosen, "mes": swipes[chosen]}
            if draw(st.booleans()):
                message["swipe_info"] = [draw(FIELDS) for _ in swipes]
        chat.append(message)
    return chat


@given(chats())
def test_a_sillytavern_chat_goes_out_as_it_came_in(chat: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(line) + "\n" for line in chat)

    out = written(through_a_transcript(read(text)), "sillytavern")

    assert [json.loads(line) for line in out.split("\n")[:-1]] == chat


def _path(record: ConversationRecord) -> list[Message]:
    by_id = {message.id: message for message in record.messages}
    path: list[Message] = []
    at = record.branches[record.branch]
    while at is not None:
        path.insert(0, by_id[at])
        at = by_id[at].parent
    return path


def _swipes(record: ConversationRecord, message: Message) -> list[str]:
    return [one.text for one in record.messages if one.parent == message.parent]

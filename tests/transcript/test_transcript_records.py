"""Whole conversations out of a transcript and into another."""

from dataclasses import replace
from pathlib import Path

import pytest
from helpers.transcripts import BOTH, PERSONA, begin, say

from rolellm_agents.errors import MessageError, StorageError
from rolellm_agents.transcript import ConversationRecord, Transcript


def a_conversation(transcript: Transcript) -> str:
    """With swipes, branches, an edit, an end that was cut, and a title."""
    conversation = transcript.create_conversation(PERSONA, {"from": {"elsewhere": [1, None]}})
    line = say(transcript, conversation, None, "Well?")
    first = transcript.begin(conversation, line.id, speaker=PERSONA, audience=BOTH, made_by={"model": "m"})
    transcript.end(first, "No.", "failed", {"output_tokens": 1}, {"seed": 3})
    say(transcript, conversation, line.id, "Yes.", speaker=PERSONA)
    transcript.append(
        conversation,
        None,
        speaker="user",
        audience=BOTH,
        text="Well!",
        made_by={"edited": line.id},
        branch="b",
    )
    begin(transcript, conversation, first, "I was ", "cut")
    transcript.move_branch(conversation, None, "empty")
    transcript.move_branch(conversation, first, "b")
    transcript.rename(conversation, "A title")
    transcript.archive(conversation)
    return conversation


def without_ids(record: ConversationRecord) -> ConversationRecord:
    """With places in the tree in the place of ids."""
    places = {message.id: str(place) for place, message in enumerate(record.messages)}
    return replace(
        record,
        messages=tuple(
            replace(
                message,
                id=places[message.id],
                conversation="",
                parent=places[message.parent] if message.parent else None,
                made_by={
                    key: places[value] if key == "edited" else value
                    for key, value in message.made_by.items()
                },
            )
            for message in record.messages
        ),
        branches={name: places[head] if head else None for name, head in record.branches.items()},
    )


def test_a_record_is_the_same_conversation_wherever_it_is_added(tmp_path: Path) -> None:
    with Transcript(tmp_path / "one.db") as one, Transcript(tmp_path / "other.db") as other:
        conversation = a_conversation(one)
        record = one.record(conversation)
        added = other.add_record(record)
        again = one.add_record(record)

        assert record.branches["empty"] is None
        assert list(record.branches) == ["main", "b", "empty"]
        assert (record.title, record.archived, record.branch) == ("A title", True, "b")
        assert record.extensions == {"from": {"elsewhere": [1, None]}}
        for transcript, id_ in ((other, added), (one, again)):
            assert id_ != conversation
            assert without_ids(transcript.record(id_)) == without_ids(record)
            assert not {message.id for message in transcript.messages(id_)} & {
                m.id for m in record.messages
            }
        assert [found.conversation for found in one.search("cut")] == [again, conversation]
        assert other.path(added, "main")[-1].status == "cut"


def test_a_record_that_does_not_hang_together_leaves_nothing_behind() -> None:
    with Transcript() as transcript:
        record = transcript.record(a_conversation(transcript))
        first, *rest = record.messages
        strays = (
            replace(record, messages=(*rest, first)),
            replace(record, branches={**record.branches, "main": "nobody"}),
        )
        for stray in strays:
            with pytest.raises(MessageError, match="There is no message"):
                transcript.add_record(stray)
        for broken in (replace(first, created="yesterday"), replace(first, kind="Sing!")):
            with pytest.raises((ValueError, StorageError)):
                transcript.add_record(replace(record, messages=(broken,), branches={}))

        assert len(transcript.conversations(archived=True)) == 1
        database = transcript._database.connection
        assert database.execute("SELECT count(*) FROM conversation").fetchone()[0] == 1
        assert len(transcript.search("Well")) == 2

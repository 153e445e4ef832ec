"""What is deleted can be taken back from the bin, and is in none of the files after it was emptied."""

from pathlib import Path

import pytest
from helpers.transcripts import say

from rolellm_agents.errors import MessageError
from rolellm_agents.transcript import Transcript
from rolellm_agents.transcript.upkeep.checking import check_transcript
from rolellm_agents.transcript.upkeep.salvage import salvage


def spoken(transcript: Transcript, count: int = 8) -> tuple[str, list[str]]:
    """A conversation of some lines, and their ids."""
    conversation = transcript.create_conversation("shrek")
    ids: list[str] = []
    for number in range(count):
        ids.append(say(transcript, conversation, ids[-1] if ids else None, f"zebra{number}").id)
    return conversation, ids


def test_a_deleted_message_and_what_rests_on_it_can_be_taken_back(tmp_path: Path) -> None:
    with Transcript(tmp_path / "transcript.db") as transcript:
        conversation, ids = spoken(transcript)
        before = transcript.record(conversation)

        assert transcript.measure_message(ids[3]).messages == 5
        deletion = transcript.delete_message(ids[3])

        assert [one.id for one in transcript.path(conversation)] == ids[:3]
        assert not transcript.search("zebra5")
        transcript.take_back(deletion)
        assert transcript.record(conversation) == before
        assert transcript.search("zebra5")


def test_the_bytes_of_what_was_deleted_are_gone_after_emptying(tmp_path: Path) -> None:
    file = tmp_path / "transcript.db"
    with Transcript(file) as transcript:
        conversation, ids = spoken(transcript)
        transcript.delete_message(ids[3])
        assert transcript.empty_bin()

        contents = b"".join(one.read_bytes() for one in tmp_path.iterdir())
        assert b"zebra2" in contents
        assert b"zebra5" not in contents
        assert transcript.search("zebra2")
        say(transcript, conversation, ids[2], "and on")
    report = check_transcript(file)
    assert report.is_sound
    assert (report.messages, report.binned, report.missing) == (4, 0, 0)


def test_a_deleted_branch_returns_to_what_is_left_of_its_messages(tmp_path: Path) -> None:
    with Transcript(tmp_path / "transcript.db") as transcript:
        conversation, ids = spoken(transcript)
        transcript.move_branch(conversation, ids[5], "side")
        branch = transcript.delete_branch(conversation, "side")
        assert transcript.empty_bin(transcript.delete_message(ids[3]))

        transcript.take_back(branch)

        assert transcript.branches(conversation) == {"main": ids[2], "side": ids[2]}


def test_another_window_cannot_go_on_with_what_was_deleted(tmp_path: Path) -> None:
    file = tmp_path / "transcript.db"
    with Transcript(file) as transcript, Transcript(file) as other:
        conversation, ids = spoken(transcript)
        deletion = transcript.delete_message(ids[6])
        with pytest.raises(MessageError, match="The message before it was deleted"):
            say(other, conversation, ids[7], "still here")
        transcript.take_back(deletion)
        answer = other.begin(conversation, ids[7], speaker="shrek", audience=["user", "shrek"])
        deletion = transcript.delete_conversations([conversation])
        with pytest.raises(MessageError, match=f"history bin restore {deletion}"):
            say(other, conversation, ids[7], "still here")
        # An answer in progress ends in the bin.
        other.add_piece(answer, "What are you")
        other.end(answer, "What are you doing?", "complete")
        assert transcript.conversations() == []
        transcript.take_back(deletion)
        assert transcript.message(answer).text == "What are you doing?"
        transcript.delete_conversations([conversation])
        assert transcript.empty_bin()
        with pytest.raises(MessageError, match="There is no conversation"):
            say(other, conversation, ids[7], "still here")


def test_a_salvage_keeps_the_bin_and_counts_it_apart(tmp_path: Path) -> None:
    file = tmp_path / "transcript.db"
    with Transcript(file) as transcript:
        conversation, ids = spoken(transcript)
        transcript.delete_message(ids[3])
    saved = salvage(file)
    assert (saved.messages, saved.binned, saved.lost) == (3, 5, 0)
    with Transcript(Path(saved.file)) as transcript:
        assert [one.id for one in transcript.path(conversation)] == ids[:3]
        transcript.take_back(transcript.bin()[0].id)
        assert [one.id for one in transcript.path(conversation)] == ids

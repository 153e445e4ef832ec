"""What is deleted can be taken back from the bin, and is in none of the files after it was emptied."""

from pathlib import Path

from helpers.transcripts import say

from rolellm_agents.transcript import Transcript
from rolellm_agents.transcript.upkeep.checking import check_transcript


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

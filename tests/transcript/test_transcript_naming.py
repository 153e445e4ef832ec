"""Titles, putting away, and drafts."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from helpers.transcripts import PERSONA, say

from rolellm_agents.errors import MessageError
from rolellm_agents.transcript import Transcript


@pytest.fixture
def transcript(tmp_path: Path) -> Iterator[Transcript]:
    with Transcript(tmp_path / "transcript.db") as opened:
        yield opened


@pytest.fixture
def conversation(transcript: Transcript) -> str:
    begun = transcript.create_conversation(PERSONA)
    say(transcript, begun, None, "Hello.")
    return begun


def test_the_newest_title_counts_and_every_one_is_kept(transcript: Transcript, conversation: str) -> None:
    assert transcript.find_conversation(conversation).title == ""

    for title in ("First", "A  second\n\x1b[31mone", ""):
        transcript.rename(conversation, title)
    assert transcript.find_conversation(conversation).title == ""
    assert transcript.titles(conversation) == ["First", "A second one", ""]

    # Undone: the title before is given again.
    transcript.rename(conversation, transcript.titles(conversation)[-2])
    assert [one.title for one in transcript.conversations()] == ["A second one"]


def test_a_conversation_that_was_put_away_is_in_the_other_list_and_comes_back(
    transcript: Transcript, conversation: str
) -> None:
    other = transcript.create_conversation(PERSONA)
    say(transcript, other, None, "Hello.")

    transcript.archive(conversation)
    assert [one.id for one in transcript.conversations()] == [other]
    assert [(one.id, one.archived) for one in transcript.conversations(archived=True)] == [
        (conversation, True)
    ]
    assert transcript.conversations("somebody else", archived=True) == []
    assert transcript.find_conversation(conversation).archived
    assert len(transcript.path(conversation)) == 1

    transcript.unarchive(conversation)
    assert [one.id for one in transcript.conversations()] == [other, conversation]
    assert transcript.conversations(archived=True) == []


@pytest.mark.parametrize(
    "work",
    [
        lambda transcript: transcript.rename("nowhere", "Title"),
        lambda transcript: transcript.archive("nowhere"),
        lambda transcript: transcript.unarchive("nowhere"),
        lambda transcript: transcript.record("nowhere"),
    ],
)
def test_a_conversation_that_does_not_exist_is_refused(
    transcript: Transcript, work: Callable[[Transcript], object]
) -> None:
    with pytest.raises(MessageError, match="There is no conversation 'nowhere'"):
        work(transcript)


def test_the_newest_draft_counts_and_outlives_its_process(tmp_path: Path) -> None:
    with (
        Transcript(tmp_path / "transcript.db") as writing,
        Transcript(tmp_path / "transcript.db") as reading,
    ):
        assert reading.draft("ada") == ""
        for typed in ("H", "Hel", "Hello,\n 你好 \ud83d"):
            writing.keep_draft("ada", typed)
        writing.keep_draft("li-bai", "another")
        assert reading.draft("ada") == "Hello,\n 你好 \ufffd"

        writing.keep_draft("ada", "")
        assert (reading.draft("ada"), reading.draft("li-bai")) == ("", "another")
        # Drafts are no messages; old ones are not kept.
        assert reading._database.connection.execute("SELECT count(*) FROM draft").fetchone()[0] == 1


@pytest.mark.parametrize("statement", ["DELETE FROM message", "UPDATE message SET text = 'Other words.'"])
def test_the_file_itself_refuses_to_change_what_was_said(
    transcript: Transcript, conversation: str, tmp_path: Path, statement: str
) -> None:
    with (
        sqlite3.connect(tmp_path / "transcript.db") as database,
        pytest.raises(sqlite3.IntegrityError, match="what was said cannot be"),
    ):
        database.execute(statement)
    database.close()
    assert [message.text for message in transcript.messages(conversation)] == ["Hello."]

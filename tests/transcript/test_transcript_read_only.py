"""Conversations in a folder without write permission can be read, and are told of when they are written."""

import sqlite3
from pathlib import Path

import pytest
from helpers.damaged_transcripts import everything, left_by_a_kill, whole
from helpers.read_only import read_only

from rolellm_agents.errors import StorageError
from rolellm_agents.transcript import Transcript
from rolellm_agents.transcript.upkeep.checking import check_transcript
from rolellm_agents.transcript.upkeep.copies import back_up

OLD_FORMAT = Path(__file__).with_name("version_2.sql")


def read(file: Path) -> set[str]:
    with Transcript.for_reading(file) as transcript:
        return {message.id for one in transcript.conversations() for message in transcript.messages(one.id)}


@pytest.mark.parametrize("make", [whole, left_by_a_kill])
def test_a_transcript_is_read_searched_and_backed_up(make: object, tmp_path: Path) -> None:
    """With a log that a killed process left, too, although SQLite cannot merge it."""
    assert callable(make)
    folder = tmp_path / "data"
    folder.mkdir()
    file = make(folder / "transcript.db")
    before = sorted(one.name for one in folder.iterdir())
    with read_only(folder):
        found = read(file)
        with Transcript.for_reading(file) as transcript:
            assert len(transcript.search("aside")) == 3
            with pytest.raises(StorageError, match="give it and its folder write permission"):
                transcript.create_conversation("ada")
        with pytest.raises(StorageError, match="give it and its folder write permission"):
            Transcript(file)
        assert check_transcript(file).is_sound
        assert back_up(file, tmp_path / "backup.db").messages == 124
        assert sorted(one.name for one in folder.iterdir()) == before

    assert found == set(everything(file))


def test_where_nothing_has_been_said_yet_the_transcript_is_empty(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    with read_only(folder):
        assert read(folder / "transcript.db") == set()
        assert read(folder / "deeper" / "transcript.db") == set()


def test_a_file_of_format_2_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    file = folder / "transcript.db"
    with sqlite3.connect(file) as database:
        database.executescript(OLD_FORMAT.read_text(encoding="utf-8"))
    database.close()
    with read_only(folder), pytest.raises(StorageError, match="must be converted to format 4"):
        read(file)
    assert read(file)


def test_where_one_can_write_a_transcript_for_reading_sees_what_others_write(tmp_path: Path) -> None:
    file = whole(tmp_path / "transcript.db")
    with Transcript.for_reading(file) as reader, Transcript(file) as writer:
        conversation = writer.conversations()[0].id
        writer.rename(conversation, "A new title")
        assert reader.conversations()[0].title == "A new title"

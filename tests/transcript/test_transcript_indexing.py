"""The index of the search is written anew beside other writers, and a damaged one is found."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from helpers.transcripts import say

from rolellm_agents.transcript import Transcript, indexing
from rolellm_agents.transcript.database import Database
from rolellm_agents.transcript.upkeep.checking import check_transcript


def levels_of_index(file: Path) -> int:
    """The number of levels in FTS5's own record of the index, which is below 128 here."""
    with closing(sqlite3.connect(file)) as db:
        (record,) = db.execute("SELECT block FROM word_data WHERE id = 10").fetchone()
    return int(record[4])


def test_each_emptying_leaves_an_index_without_more_levels(tmp_path: Path) -> None:
    file = tmp_path / "transcript.db"
    with Transcript(file) as transcript:
        conversation = transcript.create_conversation("shrek")
        kept = say(transcript, conversation, None, "apple").id
        levels = set()
        # A new message for each emptying; FTS5 would merge a full level itself after sixteen.
        for number in range(40):
            kept = say(transcript, conversation, kept, f"apple {number}").id
            transcript.delete_message(say(transcript, conversation, kept, f"zebra {number}").id)
            assert transcript.empty_bin()
            levels.add(levels_of_index(file))
        assert levels == {1}
        assert len(transcript.search("apple", limit=100)) == 41


def test_messages_that_end_or_are_deleted_meanwhile_are_indexed_and_not_indexed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "transcript.db"
    with Transcript(file) as transcript, Transcript(file) as other:
        conversation = transcript.create_conversation("shrek")
        first = say(transcript, conversation, None, "apple").id
        answer = transcript.begin(conversation, first, speaker="shrek", audience=["user"], branch="answer")
        last = say(transcript, conversation, first, "zebra").id
        wrote = False
        prepare = indexing._prepare

        def prepare_beside(*arguments: object) -> None:
            nonlocal wrote
            prepare(*arguments)  # type: ignore[arg-type]
            if not wrote:
                wrote = True
                other.end(answer, "pear", "complete")
                other.delete_message(last)
                other.empty_bin()

        monkeypatch.setattr(indexing, "_prepare", prepare_beside)
        with closing(Database(file)) as database:
            indexing.index_anew(database)
        assert len(transcript.search("pear")) == 1
    with closing(sqlite3.connect(file)) as db:
        found = db.execute("SELECT count(*) FROM word WHERE word MATCH 'zebra'").fetchone()
        assert found == (0,)


def test_a_check_finds_a_damaged_index(tmp_path: Path) -> None:
    file = tmp_path / "transcript.db"
    with Transcript(file) as transcript:
        conversation = transcript.create_conversation("shrek")
        say(transcript, conversation, None, "apple")
    assert check_transcript(file).is_sound
    with closing(sqlite3.connect(file)) as db:
        db.execute("DELETE FROM word_data WHERE id > 10")
        db.commit()
    (finding,) = check_transcript(file).findings
    assert finding.startswith("The index of the search is damaged")

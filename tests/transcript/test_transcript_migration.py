"""A transcript of format 2, as rolellm 0.1 wrote it, becomes one of this format and says the same."""

import json
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from helpers.transcripts import WRITER, say

from rolellm_agents.errors import StorageError
from rolellm_agents.transcript import Transcript

HERE = Path(__file__).parent
KNOWN = json.loads((HERE / "version_2.json").read_text(encoding="utf-8"))
"""What rolellm 0.1 itself said of the file, before it was put beside this test."""

STEPS = 13_000
"""Of SQLite's machine; about what opening the old file takes."""

OPEN_AND_DIE = """
import os, signal, sqlite3, sys
from pathlib import Path
connect = sqlite3.connect
def connect_to_die(*arguments, **options):
    left = iter(range(int(sys.argv[2])))
    def die():
        os.kill(os.getpid(), signal.SIGKILL)
    database = connect(*arguments, **options)
    database.set_progress_handler(lambda: 0 if next(left, None) is not None else die(), 1)
    return database
sqlite3.connect = connect_to_die
from rolellm_agents.transcript import Transcript
Transcript(Path(sys.argv[1])).close()
"""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    file = tmp_path / "transcript.db"
    with sqlite3.connect(file) as database:
        database.executescript((HERE / "version_2.sql").read_text(encoding="utf-8"))
    database.close()
    return file


def version_of(file: Path) -> int:
    database = sqlite3.connect(file)
    version: int = database.execute("PRAGMA user_version").fetchone()[0]
    database.close()
    return version


def contents_of(file: Path) -> list[object]:
    """The schema and all rows, those of the search's index among them."""
    database = sqlite3.connect(file)
    schema = database.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
    tables = [row[1] for row in database.execute("PRAGMA table_list") if row[2] in ("table", "shadow")]
    rows = {name: database.execute(f'SELECT * FROM "{name}"').fetchall() for name in tables}  # noqa: S608
    database.close()
    return [schema, rows]


def told_by(transcript: Transcript) -> dict[str, Any]:
    """All that could be asked of rolellm 0.1, as JSON has it."""
    told = {
        "conversations": [asdict(one) for one in transcript.conversations()],
        "archived": [asdict(one) for one in transcript.conversations(archived=True)],
        "of": {
            id_: {
                "messages": [asdict(message) for message in transcript.messages(id_)],
                "branches": list(transcript.branches(id_).items()),
                "latest": transcript.latest_branch(id_),
                "paths": {
                    branch: [message.id for message in transcript.path(id_, branch)]
                    for branch in transcript.branches(id_)
                },
                "extensions": transcript.extensions(id_),
                "titles": transcript.titles(id_),
                "note": transcript.note(id_),
                "draft": transcript.draft(id_),
            }
            for id_ in KNOWN["of"]
        },
    }
    as_json: dict[str, Any] = json.loads(json.dumps(told))
    return as_json


def test_the_old_file_has_what_a_migration_can_get_wrong() -> None:
    messages = [message for one in KNOWN["of"].values() for message in one["messages"]]

    assert {message["status"] for message in messages} == {"complete", "stopped", "failed", "cut"}
    assert {len(one["branches"]) for one in KNOWN["of"].values()} == {1, 2, 5}
    assert any(message["usage"] for message in messages)
    assert any("edited" in message["made_by"] for message in messages)


def test_nothing_that_was_said_differs_after_the_migration(old: Path) -> None:
    with Transcript(old) as transcript:
        assert told_by(transcript) == KNOWN
    assert version_of(old) == 4
    with Transcript(old) as transcript:
        assert told_by(transcript) == KNOWN


def test_what_was_said_before_the_migration_is_found(old: Path) -> None:
    with Transcript(old) as transcript:
        found = transcript.search("algebraic loom")
        assert [one.snippet[:22] for one in found] == ["It weaves algebraic pa"]
        assert [one.speaker for one in transcript.search("明月")] == ["user", "user"]
        assert [one.snippet for one in transcript.search("cut off")] == ["Cut off  here"]
        assert len(transcript.search('"cut here"')) == 1


def test_a_migrated_transcript_can_be_written_and_is_whole(old: Path) -> None:
    with Transcript(old) as transcript:
        (latest, *_) = transcript.conversations()
        before = transcript.path(latest.id)
        said = say(transcript, latest.id, before[-1].id, "Going on.")
        assert transcript.path(latest.id) == [*before, said]
        unfinished = next(
            message["id"]
            for one in KNOWN["of"].values()
            for message in one["messages"]
            if message["status"] == "cut" and message["text"]
        )
        assert transcript.end(unfinished, "It was cut here, and goes on.", "complete").status == "complete"
    with sqlite3.connect(old) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    database.close()
    assert not {"packed_message", "shape"} & tables


def test_a_new_file_and_a_migrated_one_have_the_same_tables(old: Path, tmp_path: Path) -> None:
    def schema_of(file: Path) -> list[tuple[str, str]]:
        Transcript(file).close()
        database = sqlite3.connect(file)
        schema = database.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
        database.close()
        return schema

    assert schema_of(old) == schema_of(tmp_path / "new.db")


def test_a_process_killed_in_a_migration_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    chance = random.Random(20)
    seen = set()
    for attempt in range(12):
        file = tmp_path / str(attempt) / "transcript.db"
        file.parent.mkdir()
        with sqlite3.connect(file) as database:
            database.executescript((HERE / "version_2.sql").read_text(encoding="utf-8"))
        database.close()
        steps = str(chance.randrange(50, STEPS))
        ended = subprocess.run((sys.executable, "-c", OPEN_AND_DIE, str(file), steps), check=False)
        assert ended.returncode in (-signal.SIGKILL, 0)
        seen.add((ended.returncode, version_of(file)))
        with Transcript(file) as transcript:
            assert told_by(transcript) == KNOWN
    assert (-signal.SIGKILL, 2) in seen, "no kill hit the migration; the test has shown nothing"


def test_processes_that_open_an_old_file_at_the_same_time_all_succeed(old: Path) -> None:
    writers = [
        subprocess.Popen(
            (sys.executable, str(WRITER), "serve"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert json.loads(writer.stdout.readline()) == {"did": "start"}
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write(json.dumps({"path": str(old)}) + "\n")
        writer.stdin.flush()
    told = [writer.communicate(timeout=60)[0] for writer in writers]

    assert [json.loads(one)["did"] for one in told] == ["open"] * 3
    with Transcript(old) as transcript:
        assert told_by(transcript) == KNOWN


@pytest.mark.parametrize(
    "damage",
    [
        lambda database: database.execute("UPDATE shape SET json = '{' WHERE number = 1"),
        lambda database: database.execute("UPDATE shape SET json = x'ffff' WHERE number = 1"),
        lambda database: database.execute("UPDATE shape SET json = json || char(31) WHERE number = 1"),
        lambda database: database.execute("DROP TABLE shape"),
    ],
)
def test_an_old_file_that_cannot_be_migrated_is_told_and_left_as_it_was(
    old: Path, damage: Callable[[sqlite3.Connection], object]
) -> None:
    with sqlite3.connect(old) as database:
        damage(database)
    database.close()
    before = contents_of(old)

    with pytest.raises(StorageError) as told:
        Transcript(old)

    assert str(old) in str(told.value)
    assert contents_of(old) == before
    assert version_of(old) == 2


def test_a_file_of_the_format_that_was_never_released_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "transcript.db"
    database = sqlite3.connect(file)
    database.execute("CREATE TABLE body (text TEXT)")
    database.execute("PRAGMA user_version = 1")
    database.close()

    with pytest.raises(StorageError, match=r"format 1, which no release wrote"):
        Transcript(file)
    assert version_of(file) == 1

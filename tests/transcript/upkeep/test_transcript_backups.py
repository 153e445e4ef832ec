"""Backups and their restoring: nothing is overwritten, and no process has to stop writing."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from helpers.damaged_transcripts import PAGE, everything, left_by_a_kill, overwrite, whole
from helpers.transcripts import WRITER, say

from rolellm_agents.errors import StorageError
from rolellm_agents.transcript import Transcript
from rolellm_agents.transcript.upkeep.checking import check_transcript
from rolellm_agents.transcript.upkeep.copies import back_up
from rolellm_agents.transcript.upkeep.restoring import restore

OLD_FORMAT = Path(__file__).parents[1] / "version_2.sql"


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def test_a_backup_is_one_private_file_with_everything_that_is_only_in_the_log(tmp_path: Path) -> None:
    file = left_by_a_kill(tmp_path / "transcript.db")
    made = back_up(file)

    place = Path(made.file)
    assert place.parent == tmp_path / "backups"
    assert names(place.parent) == [place.name]
    assert place.stat().st_mode & 0o077 == 0
    assert (made.conversations, made.messages, made.bytes) == (3, 124, place.stat().st_size)
    alone = tmp_path / "alone" / "transcript.db"
    alone.parent.mkdir()
    shutil.copyfile(place, alone)
    assert everything(alone) == everything(file)


def test_a_backup_is_made_while_another_process_writes(tmp_path: Path) -> None:
    file = tmp_path / "transcript.db"
    with Transcript(file) as transcript:
        conversation = transcript.create_conversation("ada")
    with subprocess.Popen(
        (sys.executable, str(WRITER), "talk", str(file), conversation),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as writer:
        assert writer.stdin is not None
        assert writer.stdout is not None
        writer.stdin.write("0\n")
        writer.stdin.flush()
        process = json.loads(writer.stdout.readline())["process"]
        told: list[str] = []
        for number in range(5):
            told += [writer.stdout.readline() for _ in range(40)]
            made = back_up(file, tmp_path / f"{number}.db")
            ended = {one["id"]: one["text"] for one in map(json.loads, told) if one["did"] == "end"}
            assert check_transcript(Path(made.file)).is_sound
            copy = everything(Path(made.file))
            assert {id_: copy[id_].text for id_ in ended} == ended
        os.kill(process, signal.SIGKILL)
        writer.stdin.close()
        assert writer.stdout.read()
    assert made.messages > 0


def test_a_backup_never_overwrites_and_two_of_a_day_have_two_names(tmp_path: Path) -> None:
    file = whole(tmp_path / "transcript.db")
    kept = tmp_path / "kept.db"
    kept.write_text("mine")

    with pytest.raises(StorageError, match=r"kept\.db exists already"):
        back_up(file, kept)
    assert kept.read_text() == "mine"
    assert back_up(file).file != back_up(file).file


def test_a_damaged_transcript_is_not_backed_up(tmp_path: Path) -> None:
    """Its backup would look like a good one."""
    file = whole(tmp_path / "transcript.db")
    overwrite(file, 20 * PAGE, b"\xa5" * 3 * PAGE)

    with pytest.raises(StorageError, match="rolellm history salvage"):
        back_up(file)
    with pytest.raises(StorageError, match="There is no transcript"):
        back_up(tmp_path / "none.db")
    assert not (tmp_path / "backups").exists()


def test_a_restored_backup_replaces_the_present_file_which_is_kept_and_can_be_restored(
    tmp_path: Path,
) -> None:
    file = whole(tmp_path / "transcript.db")
    before = everything(file)
    backup = Path(back_up(file).file)
    with Transcript(file) as transcript:
        said = say(transcript, transcript.conversations()[0].id, None, "After the backup.")

    restored = restore(backup, file)

    assert everything(file) == before
    assert (restored.conversations, restored.messages) == (3, 124)
    assert restored.kept is not None
    assert restore(Path(restored.kept), file).messages == 125
    assert everything(file) == {**before, said.id: said}
    assert backup.exists()


def test_a_damaged_file_is_replaced_and_kept_with_its_log(tmp_path: Path) -> None:
    file = left_by_a_kill(tmp_path / "transcript.db")
    log = file.with_name("transcript.db-wal")
    backup = Path(back_up(file).file)
    known = everything(backup)
    overwrite(file, 0, b"\xa5" * PAGE)
    damaged, its_log = file.read_bytes(), log.read_bytes()

    restored = restore(backup, file)

    assert everything(file) == known
    assert restored.kept is not None
    kept = Path(restored.kept)
    assert (kept.read_bytes(), kept.with_name(f"{kept.name}-wal").read_bytes()) == (damaged, its_log)


def test_a_log_that_a_killed_restore_left_is_not_applied_to_the_next_file(tmp_path: Path) -> None:
    file = left_by_a_kill(tmp_path / "transcript.db")
    backup = Path(back_up(file).file)
    first = restore(backup, file)
    assert first.kept is not None
    Path(first.kept).unlink()  # as if the process had been killed before it
    known = everything(file)

    second = restore(backup, file)

    assert second.kept is not None
    assert everything(Path(second.kept)) == known


def test_a_backup_is_restored_where_there_is_no_transcript(tmp_path: Path) -> None:
    backup = Path(back_up(whole(tmp_path / "transcript.db")).file)
    new = tmp_path / "new" / "data" / "transcript.db"

    assert restore(backup, new).kept is None
    assert everything(new) == everything(backup)


def test_nothing_is_restored_while_a_process_has_the_transcript_open(tmp_path: Path) -> None:
    file = whole(tmp_path / "transcript.db")
    backup = Path(back_up(file).file)
    before = file.read_bytes()
    with Transcript(file), pytest.raises(StorageError) as told:
        restore(backup, file)

    assert f"is open in another program (process {os.getpid()}); close" in str(told.value)
    assert file.read_bytes() == before
    assert names(tmp_path) == ["backups", "transcript.db"]
    restore(backup, file)


def test_a_damaged_or_foreign_backup_is_refused_and_the_transcript_stays(tmp_path: Path) -> None:
    file = whole(tmp_path / "transcript.db")
    backup = Path(back_up(file).file)
    before = file.read_bytes()
    overwrite(backup, 20 * PAGE, b"\xa5" * 3 * PAGE)
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as database:
        database.execute("CREATE TABLE recipe (text)")
    database.close()

    with pytest.raises(StorageError, match="is damaged"):
        restore(backup, file)
    with pytest.raises(StorageError, match="is not a transcript"):
        restore(foreign, file)
    with pytest.raises(StorageError, match="There is no transcript"):
        restore(tmp_path / "none.db", file)
    with pytest.raises(StorageError, match="is the transcript itself"):
        restore(file, file)
    assert file.read_bytes() == before


def test_a_file_of_format_2_is_kept_once_before_it_is_converted(tmp_path: Path) -> None:
    file = tmp_path / "transcript.db"
    with sqlite3.connect(file) as database:
        database.executescript(OLD_FORMAT.read_text(encoding="utf-8"))
    database.close()
    old = tmp_path / "old.db"
    shutil.copyfile(file, old)

    with Transcript(file) as transcript:
        notice = transcript.notice
    with Transcript(file) as transcript:
        assert transcript.notice == ""

    (kept,) = tmp_path.glob("transcript-format-2-*.db")
    assert notice == f"{file} is converted to format 4; a copy in format 2 is kept in {kept}."
    assert rows_of(kept) == rows_of(old)


def rows_of(file: Path) -> list[object]:
    with closing(sqlite3.connect(file)) as database:
        tables = [row[1] for row in database.execute("PRAGMA table_list") if row[2] in ("table", "shadow")]
        return [database.execute(f'SELECT * FROM "{name}"').fetchall() for name in tables]  # noqa: S608


def test_an_interrupted_conversion_makes_no_second_copy(tmp_path: Path) -> None:
    for _ in range(2):
        file = tmp_path / "transcript.db"
        file.unlink(missing_ok=True)
        with sqlite3.connect(file) as database:
            database.executescript(OLD_FORMAT.read_text(encoding="utf-8"))
        database.close()
        Transcript(file).close()

    assert len(list(tmp_path.glob("transcript-format-2-*.db"))) == 1

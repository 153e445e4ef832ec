"""`rolellm history check`, `backup`, `restore` and `salvage`; reading in a home that cannot be written."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.damaged_transcripts import PAGE, everything, left_by_a_kill, overwrite, whole
from helpers.here import rolellm_here
from helpers.read_only import read_only
from helpers.transcripts import say
from helpers.user_files import write_persona

from rolellm_agents.config.paths import user_paths
from rolellm_agents.transcript import Transcript
from rolellm_agents.transcript.upkeep.checking import damage_of

OLD_FORMAT = Path(__file__).parents[1] / "transcript" / "version_2.sql"


@pytest.fixture
def mine() -> Path:
    """The user's own transcript."""
    place = user_paths().transcript
    place.parent.mkdir(parents=True)
    return whole(place)


def damage_a_page_of_messages(file: Path) -> None:
    """Damage a page with messages; the middle of such a small file can be tables without rows."""
    overwrite(file, file.read_bytes().index(b"1.20 word") // PAGE * PAGE, b"\xa5" * PAGE)


def test_a_sound_transcript_is_told_so(mine: Path) -> None:
    checked = rolellm_here("history", "check")
    as_json = json.loads(rolellm_here("history", "check", str(mine), "--json").stdout)

    assert (checked.returncode, checked.stderr) == (0, "")
    assert checked.stdout == f"{mine} is sound: 124 messages of 3 conversations, format 4.\n"
    assert as_json == {
        "file": str(mine),
        "format": 4,
        "conversations": 3,
        "messages": 124,
        "findings": [],
        "binned": 0,
        "missing": 0,
        "sound": True,
    }


def test_a_damaged_transcript_is_checked_salvaged_and_restored(mine: Path) -> None:
    known = everything(mine)
    overwrite(mine, 0, b"\xa5" * PAGE)

    listed = rolellm_here("history", "list")
    assert listed.returncode == 2
    assert "“rolellm history salvage” saves what can be read of it." in listed.stderr

    checked = rolellm_here("history", "check")
    assert checked.returncode == 1
    assert checked.stdout.startswith("SQLite cannot read the file: file is not a database.\n")
    assert "rolellm history salvage" in checked.stdout
    assert json.loads(rolellm_here("history", "check", "--json").stdout)["sound"] is False

    salvaged = rolellm_here("history", "salvage")
    assert (salvaged.returncode, salvaged.stderr) == (0, "")
    first, last = salvaged.stdout.splitlines()
    new = last.removeprefix("To go on with what was saved:  rolellm history restore ")
    assert first == f"Saved 124 messages of 3 conversations in {new}. {mine} is unchanged."

    restored = rolellm_here("history", "restore", new)
    assert restored.returncode == 0
    assert restored.stdout.startswith(
        f"{mine} now has 124 messages of 3 conversations.\nThe former file is "
    )
    assert everything(mine) == known


def test_what_a_salvage_loses_is_told(mine: Path) -> None:
    damage_a_page_of_messages(mine)

    salvaged = rolellm_here("history", "salvage", str(mine))
    as_json = json.loads(rolellm_here("history", "salvage", "--json").stdout)

    assert as_json["lost"] + as_json["torn"] > 0
    assert f"Lost: {as_json['lost']} message" in salvaged.stdout
    assert f"Incomplete: {as_json['torn']} message" in salvaged.stdout


def test_a_backup_is_named_and_restoring_it_can_be_undone(mine: Path, tmp_path: Path) -> None:
    out = tmp_path / "copies" / "mine.db"
    backup = rolellm_here("history", "backup", "--out", str(out))
    as_json = json.loads(rolellm_here("history", "backup", "--json").stdout)

    assert (backup.returncode, backup.stdout) == (0, f"{out}\n")
    assert backup.stderr == "rolellm: Copied 124 messages of 3 conversations.\n"
    assert as_json["messages"] == 124
    assert rolellm_here("history", "backup", "--out", str(out)).returncode == 2

    with Transcript(mine) as transcript:
        conversation = transcript.conversations()[0].id
        transcript.rename(conversation, "Renamed")
    former = json.loads(rolellm_here("history", "restore", str(out), "--json").stdout)["kept"]
    assert "Renamed" not in rolellm_here("history", "list").stdout
    assert rolellm_here("history", "restore", former).returncode == 0
    assert "Renamed" in rolellm_here("history", "list").stdout


def test_that_a_file_was_converted_is_told_once() -> None:
    place = user_paths().transcript
    place.parent.mkdir(parents=True)
    with sqlite3.connect(place) as database:
        database.executescript(OLD_FORMAT.read_text(encoding="utf-8"))
    database.close()

    first, second = (rolellm_here("history", "list") for _ in range(2))

    assert first.stderr.startswith(
        f"rolellm: {place} is converted to format 4; a copy in format 2 is kept in "
    )
    assert (second.stderr, second.stdout) == ("", first.stdout)


@pytest.mark.parametrize("make", [whole, left_by_a_kill])
def test_a_home_that_cannot_be_written_can_be_read(
    make: Callable[[Path], Path], home: Path, tmp_path: Path
) -> None:
    place = user_paths().transcript
    place.parent.mkdir(parents=True)
    make(place)
    with read_only(home):
        listed = rolellm_here("history", "list", "--json")
        conversation = json.loads(listed.stdout)[0]["id"]
        shown = rolellm_here("history", "show", conversation)
        exported = rolellm_here("history", "export", conversation, "--out", str(tmp_path / "out.md"))
        found = rolellm_here("history", "search", "aside")
        renamed = rolellm_here("history", "rename", conversation, "New")

    assert [one.returncode for one in (listed, shown, exported, found)] == [0] * 4
    assert "2.39" in shown.stdout or "Aside 2" in shown.stdout
    assert (tmp_path / "out.md").exists()
    assert renamed.returncode == 2
    assert "cannot be written" in renamed.stderr


def test_restoring_tells_what_only_the_former_file_has(mine: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine.db"
    rolellm_here("history", "backup", "--out", str(out))
    with Transcript(mine) as transcript:
        first = transcript.conversations()[0].id
        say(transcript, first, transcript.path(first)[-1].id, "One more.")
        say(transcript, transcript.create_conversation("ada"), None, "Another one.")

    restored = rolellm_here("history", "restore", str(out))

    assert "Only it has 2 messages, among them 1 whole conversation." in restored.stdout
    again = rolellm_here("history", "restore", str(out))
    assert "Only it has" not in again.stdout


def test_a_chat_tells_that_pages_in_the_middle_are_damaged(mine: Path) -> None:
    write_persona()
    damage_a_page_of_messages(mine)
    assert damage_of(mine.with_name("none.db")) is None

    error = damage_of(mine)
    talked = rolellm_here("chat", "ada", "--plain", "--model", "scripted:One.", stdin="Hello.\n")

    assert error is not None
    assert "“rolellm history check” shows what is wrong" in str(error)
    assert str(error) in talked.stderr

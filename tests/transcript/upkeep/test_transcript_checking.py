"""The check finds what SQLite finds, and what is wrong with the tree of messages."""

import shutil
import sqlite3
from pathlib import Path

import pytest
from helpers.damaged_transcripts import PAGE, left_by_a_kill, overwrite, unguarded, whole

from rolellm_agents.errors import StorageError
from rolellm_agents.transcript.upkeep.checking import check_transcript


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return whole(tmp_path_factory.mktemp("whole") / "transcript.db")


@pytest.fixture
def file(sample: Path, tmp_path: Path) -> Path:
    return Path(shutil.copyfile(sample, tmp_path / "transcript.db"))


def test_a_sound_file_has_no_findings_and_is_not_changed(tmp_path: Path) -> None:
    file = left_by_a_kill(tmp_path / "transcript.db")
    before = file.read_bytes()
    report = check_transcript(file)

    assert (report.is_sound, report.findings, report.missing) == (True, (), 0)
    assert (report.format, report.conversations, report.messages) == (4, 3, 124)
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("damage", "finding"),
    [
        (
            "UPDATE message SET parent = 900 WHERE number = 9",
            "Messages that follow one that is not there: 1.",
        ),
        (
            "UPDATE message SET parent = 9 WHERE number = 5",
            "Messages that follow one that was written after them: 1.",
        ),
        (
            "UPDATE message SET parent = 1 WHERE number = 60",
            "Messages that follow one of another conversation: 1.",
        ),
        ("UPDATE message SET branch = 77 WHERE number = 9", "Messages that belong to no conversation: 1."),
        ("UPDATE message SET manner = 77 WHERE number = 9", "Messages without a speaker: 1."),
        (
            "UPDATE move SET head = 70 WHERE number = 1",
            "Moves of a branch to a message that is not in its conversation: 1.",
        ),
        ("INSERT INTO piece VALUES (1, 1, 'words')", "Pieces that belong to no answer in progress: 1."),
        ("UPDATE manner SET audience = '[' WHERE number = 1", "Audiences that are not JSON: 1."),
        ("UPDATE message SET made_by = '{' WHERE number = 2", "Provenances that are not JSON: 1."),
    ],
)
def test_a_broken_tree_is_told(file: Path, damage: str, finding: str) -> None:
    with unguarded(file) as database:
        database.execute(damage)

    assert finding in check_transcript(file).findings


def test_damaged_pages_are_told(file: Path) -> None:
    overwrite(file, 20 * PAGE, b"\xa5" * 3 * PAGE)
    findings = check_transcript(file).findings

    assert findings
    assert all(finding.startswith("SQLite ") and finding.endswith(".") for finding in findings)


@pytest.mark.parametrize("content", [b"Dear diary,\n" * 400, b"SQLite format 3\x00" + b"\xff" * 4000])
def test_a_file_that_is_no_database_is_told(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "transcript.db"
    file.write_bytes(content)
    report = check_transcript(file)

    assert (report.format, report.messages, report.is_sound) == (None, None, False)


def test_a_missing_file_and_a_newer_format_are_refused(file: Path, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="There is no transcript"):
        check_transcript(tmp_path / "none.db")
    with sqlite3.connect(file) as database:
        database.execute("PRAGMA user_version = 9")
    database.close()
    with pytest.raises(StorageError, match=r"newer rolellm \(format 9"):
        check_transcript(file)

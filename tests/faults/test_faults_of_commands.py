"""With a fault at any file operation of a command, its output is old, or new, or has whole lines."""

import re
import sqlite3
from pathlib import Path

import pytest
from helpers.damaged_transcripts import whole
from helpers.faults import each_fault
from helpers.here import rolellm_here
from helpers.small_scene import small_scene

from rolellm_agents.errors import RoleLLMError, StorageError
from rolellm_agents.scene.export import uncast
from rolellm_agents.scene.run_file import read_run_file
from rolellm_agents.transcript import Transcript
from rolellm_agents.transcript.database import FORMAT
from rolellm_agents.transcript.upkeep.copies import back_up

OLD_FORMAT = Path(__file__).parents[1] / "transcript" / "version_2.sql"


def run(*arguments: str) -> str:
    """A command's output; its sentence is raised as the error that it was."""
    ended = rolellm_here(*arguments)
    if ended.returncode == 2:
        raise RoleLLMError(ended.stderr.strip().removeprefix("rolellm: "))
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_a_scene_that_is_written_line_by_line_has_whole_lines_and_goes_on(tmp_path: Path) -> None:
    scene = str(small_scene(tmp_path))
    options = ("--no-keep", "--seed", "4", "--turns", "3", "--model", "scripted:Yes.")

    def act(folder: Path) -> None:
        run("scene", "run", scene, *options, "--out", str(folder / "scene.jsonl"))

    def said(folder: Path) -> list[str]:
        return [line["text"] for line in read_run_file(folder / "scene.jsonl", uncast).lines]

    for outcome in each_fault(tmp_path / "points", lambda _: None, act):
        out = outcome.folder / "scene.jsonl"
        complete = said(tmp_path / "points" / "none")
        if out.exists():
            assert out.read_bytes().endswith(b"\n")
            assert said(outcome.folder) == complete[: len(said(outcome.folder))]
        assert {one.name for one in outcome.folder.iterdir()} <= {"scene.jsonl", ".scene.jsonl.lock"}
        act(outcome.folder)
        assert said(outcome.folder) == complete


@pytest.mark.parametrize(
    "command", [("history", "export", "--format", "json", "--all"), ("history", "export", "--force")]
)
def test_an_exported_conversation_is_the_old_file_or_the_new_one(
    tmp_path: Path, command: tuple[str, ...], home: Path
) -> None:
    (home / "data").mkdir(parents=True)
    file = whole(home / "data" / "transcript.db")
    with Transcript(file) as transcript:
        conversation = transcript.conversations()[0].id
    replaces = "--force" in command

    def prepare(folder: Path) -> None:
        if replaces:
            (folder / "chat.txt").write_text("old")

    def act(folder: Path) -> None:
        run(*command, conversation, "--out", str(folder / "chat.txt"))

    for outcome in each_fault(tmp_path / "points", prepare, act):
        expected = (tmp_path / "points" / "none" / "chat.txt").read_text()
        left = [one.read_text() for one in outcome.folder.iterdir()]
        assert left == ([expected] if outcome.succeeded else ["old"] * replaces), outcome.operation


def test_an_exported_scene_is_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    played = tmp_path / "scene.jsonl"
    options = ("--no-keep", "--seed", "4", "--turns", "3", "--model", "scripted:Yes.")
    run("scene", "run", str(small_scene(tmp_path)), *options, "--out", str(played))

    def act(folder: Path) -> None:
        run("scene", "export", str(played), "--as", "novel", "--out", str(folder / "scene.html"))

    for outcome in each_fault(tmp_path / "points", lambda _: None, act):
        expected = (tmp_path / "points" / "none" / "scene.html").read_text()
        left = [one.read_text() for one in outcome.folder.iterdir()]
        assert left == ([expected] if outcome.succeeded else []), outcome.operation


def test_an_old_transcript_whose_copy_cannot_be_kept_is_not_converted(tmp_path: Path) -> None:
    def prepare(folder: Path) -> None:
        database = sqlite3.connect(folder / "transcript.db")
        database.executescript(OLD_FORMAT.read_text(encoding="utf-8"))
        database.close()

    def act(folder: Path) -> None:
        Transcript(folder / "transcript.db").close()

    for outcome in each_fault(tmp_path / "points", prepare, act):
        database = sqlite3.connect(outcome.folder / "transcript.db")
        version = database.execute("PRAGMA user_version").fetchone()[0]
        database.close()
        copies = [one for one in outcome.folder.iterdir() if "format-2" in one.name]
        assert (version, len(copies)) == ((FORMAT, 1) if outcome.succeeded else (2, 0)), outcome.operation


def test_on_a_full_disk_the_sentence_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    file = whole(tmp_path / "transcript.db")
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StorageError, match=re.escape("(No space left on device); make room")):
        back_up(file)

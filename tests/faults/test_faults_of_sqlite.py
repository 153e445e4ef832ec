"""With a fault at any of SQLite's system calls, no message is lost, and a sentence tells of it."""

import os
import random
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from helpers.faults_of_sqlite import Talk, calls_of, strace_of, talk
from helpers.transcripts import PERSONA, say

from rolellm_agents.transcript import Message, Transcript
from rolellm_agents.transcript.upkeep.checking import check_transcript

LINES = 30


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("sample") / "transcript.db"
    with Transcript(file) as transcript:
        conversation, last = transcript.create_conversation(PERSONA), None
        for number in range(LINES):
            last = say(transcript, conversation, last, f"Line {number}").id
    return file


def copied(sample: Path, folder: Path) -> Path:
    folder.mkdir()
    return Path(shutil.copyfile(sample, folder / "transcript.db"))


def messages_of(file: Path) -> dict[str, Message]:
    with Transcript(file) as transcript:
        (conversation,) = transcript.conversations()
        return {one.id: one for one in transcript.messages(conversation.id)}


def check(file: Path, told: Talk, before: dict[str, Message]) -> None:
    """Everything that was there and everything that was told is there, and whole."""
    assert check_transcript(file).findings == ()
    after = messages_of(file)
    assert {id_: after[id_] for id_ in before} == before
    for id_, text in told.texts.items():
        assert after[id_].text.startswith(text)
    if told.title:
        with Transcript(file) as transcript:
            assert transcript.conversations()[0].title == told.title
    if told.error:
        assert told.error.endswith(".")
        assert "\n" not in told.error
        assert str(file) in told.error


def faults(sample: Path, folder: Path) -> list[tuple[str, int, str]]:
    file = copied(sample, folder / "counted")
    calls = list(calls_of(file, folder / "trace"))
    return [
        (name, number, error)
        for name, number in calls
        for error in (("EIO", "ENOSPC") if name != "pread64" else ("EIO",))
    ]


def let_fail(sample: Path, folder: Path, chosen: list[tuple[str, int, str]]) -> int:
    """Talk once with each fault; returns how often it was told."""
    before = messages_of(copied(sample, folder / "before"))
    failures = 0
    for name, number, error in chosen:
        file = copied(sample, folder / f"{name}-{number}-{error}")
        strace = strace_of(file, folder / "trace", f"{name}:error={error}:when={number}")
        told = talk(file, strace=strace)
        check(file, told, before)
        failures += bool(told.error)
    return failures


def test_some_faults_of_system_calls_lose_nothing(sample: Path, tmp_path: Path) -> None:
    chosen = random.Random(5).sample(faults(sample, tmp_path), 8)

    assert let_fail(sample, tmp_path, chosen)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_no_fault_of_any_system_call_loses_anything(sample: Path, tmp_path: Path) -> None:
    chosen = faults(sample, tmp_path)

    assert let_fail(sample, tmp_path, chosen) > len(chosen) // 4


def test_writes_that_end_in_the_middle_lose_nothing(sample: Path, tmp_path: Path) -> None:
    """The system lets files grow to a size and no further, so that a write is cut short there."""
    before = messages_of(copied(sample, tmp_path / "before"))
    failures = 0
    for limit in range(5_000, 200_000, 13_331):
        file = copied(sample, tmp_path / str(limit))
        told = talk(file, limit=limit)
        check(file, told, before)
        failures += bool(told.error)
    assert failures


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[None]:
    options = f"size={kilobytes}k"
    mounted = subprocess.run(
        ("mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)), capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("this root may not mount a small disk")
    try:
        yield
    finally:
        subprocess.run(("umount", "--lazy", str(folder)), capture_output=True, check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
def test_a_disk_that_fills_up_anywhere_loses_nothing(sample: Path, tmp_path: Path) -> None:
    before = messages_of(copied(sample, tmp_path / "before"))
    full = 0
    for kilobytes in range(160, 420, 16):
        disk = tmp_path / f"disk-{kilobytes}"
        disk.mkdir()
        rescued = tmp_path / f"rescued-{kilobytes}"
        rescued.mkdir()
        with small_disk(disk, kilobytes):
            file = Path(shutil.copyfile(sample, disk / "transcript.db"))
            told = talk(file)
            for one in disk.iterdir():
                shutil.copyfile(one, rescued / one.name)
        with closing(sqlite3.connect(rescued / "transcript.db")) as database:
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        after = messages_of(rescued / "transcript.db")
        assert {id_: after[id_] for id_ in before} == before
        assert all(after[id_].text.startswith(text) for id_, text in told.texts.items())
        if told.error:
            full += 1
            assert told.error.startswith("The disk is full") or "error" in told.error
    assert full

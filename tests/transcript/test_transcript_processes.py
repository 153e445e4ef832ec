"""Several processes and several threads hold one transcript at the same time."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers.transcripts import WRITER, begin, say

from rolellm_agents.transcript import Transcript

WRITERS = 4
TIMES = 50


class Writer:
    """A process that does what it is told."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, **request: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        told: dict[str, Any] = json.loads(self._process.stdout.readline())
        return told


@contextmanager
def writers() -> Iterator[list[Writer]]:
    """Start them all and wait until each has its imports behind it."""
    with ExitStack() as stack:
        started = [
            Writer(
                stack.enter_context(
                    subprocess.Popen(
                        (sys.executable, str(WRITER), "serve"),
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        text=True,
                    )
                )
            )
            for _ in range(WRITERS)
        ]
        for writer in started:
            assert writer.hear() == {"did": "start"}
        yield started


def ask_all(asked: Sequence[Writer], **request: Any) -> list[dict[str, Any]]:
    """Ask all before any is heard."""
    for writer in asked:
        writer.ask(**request)
    return [writer.hear() for writer in asked]


def test_processes_that_open_a_new_transcript_at_the_same_time_all_succeed(tmp_path: Path) -> None:
    with writers() as started:
        for attempt in range(100):
            file = tmp_path / f"new-{attempt}" / "data" / "transcript.db"
            told = ask_all(started, path=str(file))
            assert [one["did"] for one in told] == ["open"] * WRITERS, told
            with Transcript(file) as transcript:
                for one in told:
                    assert transcript.branches(one["conversation"]) == {"main": None}


@pytest.mark.core
def test_processes_that_write_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "transcript.db"
    with writers() as started, Transcript(file) as transcript:
        shared = transcript.create_conversation("ada")
        told = ask_all(started, path=str(file), shared=shared, append=TIMES)
        assert [one["did"] for one in told] == ["append"] * WRITERS, told

        for one in told:
            for conversation, texts in one["texts"].items():
                # In the shared one each process has a line of its own from the beginning.
                said = [m for m in transcript.messages(conversation) if m.text in texts]
                assert [message.text for message in said] == texts
                assert [message.parent for message in said] == [None, *(m.id for m in said[:-1])]
        assert len(transcript.messages(shared)) == WRITERS * TIMES
        assert len(transcript.conversations()) == WRITERS + 1


def test_threads_that_share_a_transcript_lose_nothing(tmp_path: Path) -> None:
    with Transcript(tmp_path / "transcript.db") as transcript:
        shared = transcript.create_conversation("ada")

        def write(writer: int) -> list[str]:
            """By turns a whole line, and an answer in pieces."""
            last: str | None = None
            for number in range(TIMES // 2):
                asked = say(transcript, shared, last, f"{writer} asks {number}")
                last = begin(transcript, shared, asked.id, f"{writer} ", "answers ", f"{number}")
                transcript.end(last, f"{writer} answers {number}", "complete")
            assert last is not None
            transcript.move_branch(shared, last, f"of-{writer}")
            return [message.text for message in transcript.path(shared, f"of-{writer}")]

        with ThreadPoolExecutor(WRITERS) as pool:
            lines = list(pool.map(write, range(WRITERS)))
        for writer, line in enumerate(lines):
            assert line == [
                text
                for number in range(TIMES // 2)
                for text in (f"{writer} asks {number}", f"{writer} answers {number}")
            ]
        assert len(transcript.messages(shared)) == WRITERS * (TIMES // 2) * 2

"""A process that the benchmark starts and that never outlives it."""

import queue
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from types import TracebackType
from typing import IO

import psutil

_LAST_WORDS = 2000
"""Bytes."""
_LAST_LINES = 4
_END_SECONDS = 30
"""What a process that has done its work may take to end."""
_GRACE_SECONDS = 5
"""What its output may take to come to an end after that."""


class Child:
    """A Python module in a process of its own: it gets one line, and answers with lines.

    Its standard input stays open, so that a `ParentWatch` in it notices when this process is gone. It
    stays in this process's session: Linux may share processors between sessions first
    (`sched_autogroup`), and processes in another one would not compete thread by thread.
    """

    def __init__(self, module: str, line: str) -> None:
        """Start it."""
        # A pipe that nobody reads would fill up, and llama.cpp says much.
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # closed in __exit__
        self._process = subprocess.Popen(
            (sys.executable, "-m", module),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            encoding="utf-8",
        )
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._talk = threading.Thread(target=self._converse, args=(line,), daemon=True)
        self._talk.start()

    def __enter__(self) -> "Child":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._kill()
        # A process that it started and left behind may still hold its output open.
        self._talk.join(timeout=_GRACE_SECONDS)
        if not self._talk.is_alive():
            self._close_pipes()
        self._said.close()

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def answer(self, limit: float | None) -> str:
        """The next line of what it says; empty when it will say nothing more.

        Args:
            limit: seconds to wait; None waits as long as it takes.

        Raises:
            TimeoutError: there was none in time.
        """
        try:
            return self._lines.get(timeout=limit)
        except queue.Empty:
            raise TimeoutError from None

    def end(self) -> int:
        """Let it go, and tell its exit code; a negative one is the signal that killed it."""
        if self._process.stdin:
            with suppress(OSError):
                self._process.stdin.close()
        try:
            return self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._kill()
            return self._process.wait()

    def last_words(self) -> str:
        """The end of what it wrote to standard error."""
        size = self._said.seek(0, 2)
        self._said.seek(max(0, size - _LAST_WORDS))
        lines = self._said.read().decode("utf-8", "replace").splitlines()
        return " | ".join(line.strip() for line in lines[-_LAST_LINES:] if line.strip()) or "none"

    def _converse(self, line: str) -> None:
        """In a thread, since a process that is stuck reads nothing and says nothing."""
        told, answers = self._process.stdin, self._process.stdout
        if told and answers:
            with suppress(OSError):  # it has ended already; its exit code tells
                told.write(f"{line}\n")
                told.flush()
            for answer in answers:
                self._lines.put(answer)
        self._lines.put("")

    def _close_pipes(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                with suppress(OSError):
                    pipe.close()

    def _kill(self) -> None:
        """With all that it started."""
        if not self.alive:
            return
        with suppress(psutil.NoSuchProcess):
            root = psutil.Process(self._process.pid)
            for process in (*root.children(recursive=True), root):
                with suppress(psutil.NoSuchProcess):
                    process.kill()
        self._process.wait()

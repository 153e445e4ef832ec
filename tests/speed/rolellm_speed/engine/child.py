"""A child process that ends with the benchmark."""

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
"""Seconds that a finished process may take to end."""
_GRACE_SECONDS = 5
"""Seconds until the end of its output after that."""


class Child:
    """A Python module in a separate process, which receives one line and answers with lines.

    Its standard input stays open, so that its `ParentWatch` detects the end of this process. It stays in
    this process's session: Linux may divide CPU time between sessions first (`sched_autogroup`), and
    processes in different sessions would not compete thread by thread.
    """

    def __init__(self, module: str, line: str) -> None:
        """Start the process."""
        # A file, because llama.cpp writes much, and an unread pipe would fill up and block it.
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
        # A process that it started may still hold its output open.
        self._talk.join(timeout=_GRACE_SECONDS)
        if not self._talk.is_alive():
            self._close_pipes()
        self._said.close()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process is running."""
        return self._process.poll() is None

    def answer(self, limit: float | None) -> str:
        """The next line of its output; empty at the end of the output.

        Args:
            limit: seconds to wait; None for no limit.

        Raises:
            TimeoutError: there was no line in time.
        """
        try:
            return self._lines.get(timeout=limit)
        except queue.Empty:
            raise TimeoutError from None

    def end(self) -> int:
        """End the process and return its exit code; a negative code is the signal that killed it."""
        if self._process.stdin:
            with suppress(OSError):
                self._process.stdin.close()
        try:
            return self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._kill()
            return self._process.wait()

    def last_words(self) -> str:
        """The end of its standard error."""
        size = self._said.seek(0, 2)
        self._said.seek(max(0, size - _LAST_WORDS))
        lines = self._said.read().decode("utf-8", "replace").splitlines()
        return " | ".join(line.strip() for line in lines[-_LAST_LINES:] if line.strip()) or "none"

    def _converse(self, line: str) -> None:
        """Write the line and read the output; runs in a thread, because a stuck process would block it."""
        writer, answers = self._process.stdin, self._process.stdout
        if writer and answers:
            with suppress(OSError):  # it has already ended; the exit code shows why
                writer.write(f"{line}\n")
                writer.flush()
            for answer in answers:
                self._lines.put(answer)
        self._lines.put("")

    def _close_pipes(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                with suppress(OSError):
                    pipe.close()

    def _kill(self) -> None:
        """Kill the process and its descendants."""
        if not self.alive:
            return
        with suppress(psutil.NoSuchProcess):
            root = psutil.Process(self._process.pid)
            for process in (*root.children(recursive=True), root):
                with suppress(psutil.NoSuchProcess):
                    process.kill()
        self._process.wait()

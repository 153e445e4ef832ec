"""SIGTERM in a real terminal: the terminal is as it was, what was said is kept, the exit code is 143."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from helpers.commands import COMMAND
from helpers.user_files import conversation_ids, kept, write_models, write_persona

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals")

PATIENCE = 60.0
"""Seconds; no test waits so long, unless what it tests is broken."""
WORDS = " ".join(f"word{number}" for number in range(2000))


class Pty:
    """A terminal of 100 by 30, with the command in it."""

    def __init__(self, *arguments: str) -> None:
        import fcntl
        import pty
        import struct
        import termios

        self.ours, its = pty.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.its = its
        self.before = self.settings()
        self.shown = b""
        self.process = subprocess.Popen(
            (*COMMAND, *arguments),
            stdin=its,
            stdout=its,
            stderr=its,
            env={**os.environ, "TERM": "xterm-256color"},
            start_new_session=True,
        )

    def settings(self) -> list[Any]:
        """Whether the terminal echoes, waits for whole lines, and so on."""
        import termios

        return termios.tcgetattr(self.its)

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self.ours, text.encode())

    def wait_for(self, text: str) -> None:
        """Read until a text is shown."""
        self._read_until(lambda: text.encode() in self.shown)

    def end(self) -> int:
        """Read until the command has ended; returns its exit code."""
        self._read_until(lambda: self.process.poll() is not None)
        self._read(0.1)
        return self.process.returncode

    def _read_until(self, holds: Any) -> None:
        end = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < end, self.shown[-500:]
            self._read(0.05)

    def _read(self, seconds: float) -> None:
        import select

        while select.select([self.ours], [], [], seconds)[0]:
            self.shown += os.read(self.ours, 65536)


@contextmanager
def in_pty(*arguments: str) -> Iterator[Pty]:
    terminal = Pty(*arguments)
    try:
        yield terminal
    finally:
        terminal.process.kill()
        terminal.process.wait()
        os.close(terminal.ours)
        os.close(terminal.its)


@pytest.fixture(autouse=True)
def slow_model() -> None:
    write_persona()
    write_models(f'[models.slow]\nspec = "scripted:{WORDS}"\nseconds_per_word = 0.05\n')


@pytest.mark.core
@pytest.mark.parametrize("is_answering", [False, True])
def test_the_app_leaves_the_terminal_as_it_was(is_answering: bool) -> None:
    with in_pty("chat", "ada", "--model", "slow") as terminal:
        terminal.wait_for("Say something")
        if is_answering:
            terminal.type("Hello.\r")
            terminal.wait_for("word2")
        opened = terminal.shown
        terminal.process.send_signal(signal.SIGTERM)
        code = terminal.end()
        left = terminal.shown[len(opened) :]

        assert code == 128 + signal.SIGTERM
        for turned_on, turned_off in (
            (b"\x1b[?1049h", b"\x1b[?1049l"),  # the alternate screen
            (b"\x1b[?25l", b"\x1b[?25h"),  # the cursor
            (b"\x1b[?1003h", b"\x1b[?1003l"),  # the mouse
            (b"\x1b[?2004h", b"\x1b[?2004l"),  # bracketed paste
        ):
            assert turned_on in opened
            assert left.rfind(turned_off) > left.rfind(turned_on)
        assert terminal.settings() == terminal.before
        assert b"Traceback" not in left
    if is_answering:
        (conversation,) = conversation_ids()
        answer = kept(conversation)[-1]
        assert (answer.speaker, answer.status) == ("ada", "stopped")
        assert answer.text.startswith("word0 word1 word2")


@pytest.mark.parametrize("is_answering", [False, True])
def test_plain_mode_leaves_the_terminal_as_it_was(is_answering: bool) -> None:
    with in_pty("chat", "ada", "--plain", "--model", "slow") as terminal:
        terminal.wait_for("You: ")
        if is_answering:
            terminal.type("Hello.\r")
            terminal.wait_for("word2")
        terminal.process.send_signal(signal.SIGTERM)

        assert terminal.end() == 128 + signal.SIGTERM
        assert terminal.settings() == terminal.before
        assert terminal.shown.rfind(b"\x1b[?2004l") >= terminal.shown.rfind(b"\x1b[?2004h")
        assert b"Traceback" not in terminal.shown
        assert terminal.shown.endswith(b"\n")
    if is_answering:
        (conversation,) = conversation_ids()
        assert kept(conversation)[-1].status == "stopped"

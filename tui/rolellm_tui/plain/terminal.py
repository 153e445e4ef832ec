"""Reading of lines in plain mode, from a terminal or a file, and the ways in which it ends."""

import asyncio
import io
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from rolellm_agents.config.settings import load_settings
from rolellm_agents.text import plain, replace_surrogates
from rolellm_agents.transcript import Transcript
from rolellm_agents.transcript.upkeep.checking import damage_of
from rolellm_tui.output import complain, print_text


def read_line(prompt: str) -> str:
    """Read the next line of the user.

    Args:
        prompt: printed before the line; before a line from a file as well, so that a log can be read.

    Raises:
        EOFError: the input ended.
    """
    in_terminal = sys.stdin.isatty()
    while replace_surrogates(line := input(prompt if in_terminal else "")) != line:
        complain("This line is not UTF-8 text; type it again.")
    if not in_terminal:
        print_text(f"{prompt}{line}")
    return line


def prepare_input(earlier: Iterable[str]) -> None:
    """Accept any bytes, and enable a history for the arrow keys, and the keys that the user has chosen.

    Args:
        earlier: the texts with which the history begins, oldest first.
    """
    if isinstance(sys.stdin, io.TextIOWrapper):
        # Input that is not text would make readline drop the lines after it.
        sys.stdin.reconfigure(errors="surrogateescape")
    with suppress(ImportError):  # Windows has no readline; its terminal has a history of its own
        import readline

        # Pasted lines are one message. Python switches this off, because its own prompt runs each line.
        readline.parse_and_bind("set enable-bracketed-paste on")
        if load_settings().vim_keys:
            readline.parse_and_bind("set editing-mode vi")
        for text in earlier:
            if "\n" not in text:
                readline.add_history(plain(text))


def run_until_end(begin: Callable[[], None], run_next: Callable[[], bool]) -> None:
    """Run lines until one ends it, the input ends, Ctrl-C is pressed, or the reader closes the pipe.

    Args:
        begin: prints the start.
        run_next: reads and runs the next line; False to end.
    """
    try:
        begin()
        while run_next():
            pass
    except (EOFError, KeyboardInterrupt):
        print_text("")  # put the shell's prompt on a new line
    except BrokenPipeError:
        # The reader closed the pipe. Without this, Python reports the error again on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


async def look_for_damage(transcript: Transcript) -> None:
    """Tell that the transcript is damaged in places that are not read at the start."""
    if error := await asyncio.to_thread(damage_of, transcript.file):
        complain(str(error))


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM end the program like /quit, so that messages are saved; the exit code is then 143."""

    def leave(number: int, _: Any) -> None:
        sys.exit(128 + number)

    previous = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    except SystemExit:
        # Not before what runs in the background has ended: until then, an answer may print words.
        if sys.stdout.isatty():
            print_text("")
        raise
    finally:
        signal.signal(signal.SIGTERM, previous)

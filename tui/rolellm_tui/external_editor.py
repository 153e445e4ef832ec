"""The user's own editor, which writes a text in a file.

Whatever happens to the editor, no text is lost: the old one stays where it was, and what a failed editor
has written stays in its file.
"""

import asyncio
import os
import shlex
import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rolellm_agents.errors import SettingsError

_WAITING = {
    "code": ("--wait", "-w"),
    "codium": ("--wait", "-w"),
    "cursor": ("--wait", "-w"),
    "zed": ("--wait", "-w"),
    "subl": ("--wait", "-w"),
    "gedit": ("--wait", "-w"),
    "mate": ("--wait", "-w"),
    "kate": ("--block", "-b"),
    "gvim": ("--nofork", "-f"),
}
"""Editors that return before the window is closed, and their options to wait."""


@dataclass(frozen=True)
class EditedText:
    """What came back from the editor."""

    text: str | None
    """The new text; None if the old one stays."""
    note: str = ""
    """What the user should know."""


def editor_command(environment: Mapping[str, str] | None = None) -> list[str]:
    """The command of the user's editor: `VISUAL`, or else `EDITOR`.

    Args:
        environment: the environment variables; those of the process when None.

    Raises:
        SettingsError: there is no editor, or it cannot be used.
    """
    variables = os.environ if environment is None else environment
    name = "VISUAL" if variables.get("VISUAL", "").strip() else "EDITOR"
    value = variables.get(name, "").strip()
    if not value:
        raise SettingsError("No editor is set; set VISUAL or EDITOR, for example EDITOR=nano.")
    try:
        command = shlex.split(value)
    except ValueError as error:
        raise SettingsError(f"{name} is not a command: {value!r} ({error}); correct it.") from error
    if not command or shutil.which(command[0]) is None:
        raise SettingsError(
            f"There is no program {command[0] if command else ''!r}; set {name} to your editor."
        )
    waits = _WAITING.get(Path(command[0]).name)
    if waits and not set(waits) & set(command):
        raise SettingsError(
            f"{command[0]} does not wait until you have written; set {name}='{value} {waits[0]}'."
        )
    return command


async def edit_outside(text: str, command: Sequence[str]) -> EditedText:
    """Let an editor change a text, in a file that only the user can read.

    Args:
        text: the text.
        command: the editor's command, to which the file is added.

    Raises:
        SettingsError: the file cannot be written.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix="rolellm-"))
        file = folder / "message.md"
        file.write_text(f"{text}\n" if text else "", encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"No file for the editor can be written: {error.strerror}.") from error
    with _without_interrupts():
        failure = await _run([*command, str(file)])
    return _collected(text, file, failure, command[0])


async def _run(command: Sequence[str]) -> str:
    """Run the editor; what went wrong, or an empty text."""
    try:
        editor = await asyncio.create_subprocess_exec(*command)
    except OSError as error:
        return f"could not be started ({error.strerror})"
    code = await editor.wait()
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with the exit code {code}" if code else ""


def _collected(text: str, file: Path, failure: str, editor: str) -> EditedText:
    """The result of an editor; the file is deleted unless it has what nothing else has."""
    try:
        written = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        kept = f" Its file is {file}." if file.exists() else ""
        return EditedText(None, f"{editor} left no text that can be read; yours is as before.{kept}")
    new = written.removesuffix("\n")
    if failure and new != text:
        return EditedText(
            None, f"{editor} {failure}; your text is as before. What it had saved is in {file}."
        )
    shutil.rmtree(file.parent, ignore_errors=True)
    if failure:
        return EditedText(None, f"{editor} {failure}; your text is as before.")
    if new == text:
        return EditedText(None, f"{editor} changed nothing; your text is as before.")
    return EditedText(new)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Leave Ctrl+C to the editor; the child process gets the default again."""
    previous = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)

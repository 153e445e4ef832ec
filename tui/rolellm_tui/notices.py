"""Notices outside of the app's window: a bell, a notice of the desktop, or a command of the user."""

import asyncio
import base64
import shlex
import subprocess
from collections.abc import Mapping

from rolellm_agents.config.settings import NoticeKind
from rolellm_agents.errors import SettingsError
from rolellm_agents.text import one_line

_BELL = "\a"
_LONGEST = 120
_KITTY = "kitty"
_WITH_777 = ("foot", "rxvt", "contour")
"""Terminals that know OSC 777, by their TERM."""


def notice_sequence(kind: NoticeKind, title: str, text: str, environment: Mapping[str, str]) -> str:
    """What is written to the terminal, empty for no notice.

    Args:
        kind: the user's choice.
        title: the title of the notice.
        text: its sentence.
        environment: tells the terminal (`TERM`, `TERM_PROGRAM`, `TMUX`).
    """
    if kind == "off":
        return ""
    if kind == "bell":
        return _BELL
    sequence = _desktop(_clean(title), _clean(text), environment)
    return _through_tmux(sequence) if environment.get("TMUX") else sequence


def _desktop(title: str, text: str, environment: Mapping[str, str]) -> str:
    """The sequence that the terminal knows: OSC 99 of kitty, OSC 777 of foot and urxvt, or else OSC 9."""
    term = environment.get("TERM", "")
    if _KITTY in term:
        encoded = base64.b64encode(f"{title}: {text}".encode()).decode()
        return f"\x1b]99;e=1;{encoded}\x1b\\"
    if term.startswith(_WITH_777) or environment.get("VTE_VERSION"):
        return f"\x1b]777;notify;{title};{text}\x1b\\"
    return f"\x1b]9;{title}: {text}\x1b\\"


def _through_tmux(sequence: str) -> str:
    """Let tmux hand a sequence on, which it does with `allow-passthrough on`; the bell always arrives."""
    return f"\x1bPtmux;{sequence.replace(chr(27), chr(27) * 2)}\x1b\\{_BELL}"


def _clean(text: str) -> str:
    """Text without control characters, and without the separator of the sequences."""
    return one_line(text, _LONGEST).replace(";", ",")


async def run_notice_command(command: str, title: str, text: str) -> None:
    """Run the user's command, with the title and the text as its last arguments.

    Raises:
        SettingsError: the command cannot be started, or it fails.
    """
    try:
        shower = await asyncio.create_subprocess_exec(
            *shlex.split(command),
            _clean(title),
            _clean(text),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"The command {command!r} cannot be run ({error}); correct notice_command in the settings."
        ) from error
    if code := await shower.wait():
        raise SettingsError(
            f"The command {command!r} ended with the exit code {code}; "
            "correct notice_command in the settings."
        )

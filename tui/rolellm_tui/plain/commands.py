"""Parsing of commands in plain mode."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from rolellm_agents.errors import MessageError
from rolellm_agents.text import did_you_mean, one_line, replace_surrogates

Name = Literal[
    "say",
    "help",
    "again",
    "continue",
    "swipe",
    "edit",
    "delete",
    "undo",
    "redo",
    "branch",
    "branches",
    "history",
    "note",
    "summary",
    "why",
    "quit",
]
ALL = "all"
"""Argument of `/why` for the complete prompt."""
CLEAR = "clear"
"""Argument of `/note` that removes the note."""


@dataclass(frozen=True)
class Command:
    """A command with its arguments."""

    name: Name
    text: str = ""
    number: int = 0
    """From 1; 0 if none was given."""


@dataclass(frozen=True)
class _Form:
    """Syntax of a command."""

    arguments: str
    meaning: str
    read: Callable[[str], tuple[str, int]]
    """Parses the text and number after the command; raises ValueError."""


def parse(line: str) -> Command:
    """Parse a line. A slash starts a command, two slashes stand for one, other lines are sent.

    Raises:
        MessageError: the command is unknown or its arguments are invalid.
    """
    line = replace_surrogates(line).strip()
    if not line.startswith("/") or line.startswith("//"):
        return Command("say", line.removeprefix("/") if line.startswith("//") else line)
    word, rest = [*line[1:].split(maxsplit=1), "", ""][:2]
    command = _NAMES.get(word.casefold())
    if command is None:
        name = one_line(word, 40)
        raise MessageError(
            f"There is no command /{name}{did_you_mean(name, _NAMES)}; see /help. To say a line "
            "that starts with a slash, type //."
        )
    try:
        text, number = _FORMS[command].read(rest)
    except ValueError:
        raise MessageError(f"Usage: {_usage(command)}. See /help.") from None
    return Command(command, text, number)


def help_lines() -> list[str]:
    """One line for each command."""
    return [f"{_usage(name)}: {form.meaning}" for name, form in _FORMS.items()]


def _usage(name: Name) -> str:
    return f"/{name} {_FORMS[name].arguments}".rstrip()


def _no_argument(rest: str) -> tuple[str, int]:
    if rest:
        raise ValueError(rest)
    return "", 0


def _number(rest: str) -> tuple[str, int]:
    number = int(rest) if rest.isdecimal() else 0
    if not number:
        raise ValueError(rest)
    return "", number


def _perhaps_number(rest: str) -> tuple[str, int]:
    return _number(rest) if rest else ("", 0)


def _number_and_text(rest: str) -> tuple[str, int]:
    number, text = rest.split(maxsplit=1)
    return text, _number(number)[1]


def _text(rest: str) -> tuple[str, int]:
    return rest, 0


def _perhaps_all(rest: str) -> tuple[str, int]:
    return _one_of(rest, "", ALL)


def _direction_or_number(rest: str) -> tuple[str, int]:
    return _number(rest) if rest.isdecimal() else _one_of(rest, "left", "right")


def _one_of(rest: str, *words: str) -> tuple[str, int]:
    if rest.casefold() not in words:
        raise ValueError(rest)
    return rest.casefold(), 0


_FORMS: dict[Name, _Form] = {
    "again": _Form("", "generate another answer to your last line.", _no_argument),
    "continue": _Form("", "continue the last answer.", _no_argument),
    "swipe": _Form(
        "left, right or N",
        "go to the previous or next answer, or to answer N.",
        _direction_or_number,
    ),
    "edit": _Form(
        "N TEXT", "replace the text of message N; your own messages are answered again.", _number_and_text
    ),
    "delete": _Form("N", "delete message N and all that follow it; /undo takes them back.", _number),
    "undo": _Form("", "undo.", _no_argument),
    "redo": _Form("", "redo.", _no_argument),
    "branch": _Form(
        "N", "start a new branch after message N; later messages stay on the old one.", _number
    ),
    "branches": _Form("[N]", "list the branches, or go to branch N.", _perhaps_number),
    "history": _Form("", "print the conversation with message numbers.", _no_argument),
    "note": _Form("[TEXT]", f"show or set the author's note; /note {CLEAR} removes it.", _text),
    "summary": _Form(
        "", "print the summary of the messages that no longer fit into the prompt.", _no_argument
    ),
    "why": _Form(
        f"[{ALL}]", "show the provenance of the last answer; all prints the complete prompt.", _perhaps_all
    ),
    "help": _Form("", "list the commands.", _no_argument),
    "quit": _Form("", "quit, like Ctrl-D. All messages are saved.", _no_argument),
}
_NAMES: dict[str, Name] = {name: name for name in _FORMS}

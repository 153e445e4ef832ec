"""The commands of a chat, in the app and in plain mode."""

from collections.abc import Callable, Iterable
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
    "undo",
    "redo",
    "branch",
    "branches",
    "history",
    "note",
    "summary",
    "why",
    "find",
    "write",
    "new",
    "strategy",
    "model",
    "talk",
    "thoughts",
    "greeting",
    "compare",
    "conversations",
    "export",
    "set",
    "rest",
    "quit",
]
ChoiceSet = Literal["branches", "directions", "strategies", "models", "personas", "note", "why", "settings"]
"""A set from which an argument is completed."""
ALL = "all"
"""Argument of `/why` for the complete prompt."""
DEFAULT = "default"
"""Value of `/set` that resets a setting."""
MOST_COMPARED = 4
"""The most voices of `/compare`."""
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
class CommandForm:
    """Syntax of a command."""

    arguments: str
    meaning: str
    read: Callable[[str], tuple[str, int]]
    """Parses the text and number after the command; raises ValueError."""
    choices: ChoiceSet | None = None
    """The set from which the argument is completed."""


OPENING: frozenset[Name] = frozenset(
    {"new", "strategy", "model", "talk", "greeting", "conversations", "set", "quit"}
)
"""Commands that leave the chat or open it anew."""


def parse(line: str, known: Iterable[str] = ()) -> Command:
    """Parse a line. A slash starts a command, two slashes stand for one, other lines are sent.

    Args:
        line: the line as typed.
        known: names of the user's own commands, which a message about an unknown command suggests too.

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
            f"There is no command /{name}{did_you_mean(name, [*_NAMES, *known])}; see /help. To say a line "
            "that starts with a slash, type //."
        )
    try:
        text, number = FORMS[command].read(rest)
    except ValueError:
        raise MessageError(f"Usage: {usage(command)}. See /help.") from None
    return Command(command, text, number)


def help_lines() -> list[str]:
    """One line for each command."""
    return [f"{usage(name)}: {form.meaning}" for name, form in FORMS.items()]


def parse_prompt(text: str, known: Iterable[str] = ()) -> Command:
    """Parse the text of a prompt; several lines, which were usually pasted, are sent as they are.

    Raises:
        MessageError: as `parse`.
    """
    text = replace_surrogates(text).strip()
    return Command("say", text) if "\n" in text else parse(text, known)


def usage(name: Name) -> str:
    """A command with its arguments."""
    return f"/{name} {FORMS[name].arguments}".rstrip()


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


def _some_text(rest: str) -> tuple[str, int]:
    if not rest:
        raise ValueError(rest)
    return rest, 0


def _perhaps_all(rest: str) -> tuple[str, int]:
    return _one_of(rest, "", ALL)


def _names_to_compare(rest: str) -> tuple[str, int]:
    if rest and not 2 <= len(rest.split()) <= MOST_COMPARED:
        raise ValueError(rest)
    return rest, 0


def _setting(rest: str) -> tuple[str, int]:
    if rest and len(rest.split()) < 2:
        raise ValueError(rest)
    return rest, 0


def _direction_or_number(rest: str) -> tuple[str, int]:
    return _number(rest) if rest.isdecimal() else _one_of(rest, "left", "right")


def _one_of(rest: str, *words: str) -> tuple[str, int]:
    if rest.casefold() not in words:
        raise ValueError(rest)
    return rest.casefold(), 0


FORMS: dict[Name, CommandForm] = {
    "again": CommandForm("", "generate another answer to your last line.", _no_argument),
    "continue": CommandForm("", "continue the last answer.", _no_argument),
    "swipe": CommandForm(
        "left, right or N",
        "go to the previous or next answer, or to answer N.",
        _direction_or_number,
        "directions",
    ),
    "edit": CommandForm(
        "N TEXT", "replace the text of message N; your own messages are answered again.", _number_and_text
    ),
    "undo": CommandForm("", "undo.", _no_argument),
    "redo": CommandForm("", "redo.", _no_argument),
    "branch": CommandForm(
        "N", "start a new branch after message N; later messages stay on the old one.", _number
    ),
    "branches": CommandForm("[N]", "list the branches, or go to branch N.", _perhaps_number, "branches"),
    "history": CommandForm("", "print the conversation with message numbers.", _no_argument),
    "note": CommandForm(
        "[TEXT]", f"show or set the author's note; /note {CLEAR} removes it.", _text, "note"
    ),
    "summary": CommandForm(
        "", "print the summary of the messages that no longer fit into the prompt.", _no_argument
    ),
    "why": CommandForm(
        f"[{ALL}]",
        "show the provenance of the last answer; all prints the complete prompt.",
        _perhaps_all,
        "why",
    ),
    "find": CommandForm("TEXT", "find the messages that contain a text.", _some_text),
    "write": CommandForm("", "let the model write your next line.", _no_argument),
    "new": CommandForm("", "start a new conversation with the same persona.", _no_argument),
    "strategy": CommandForm("NAME", "answer with another strategy.", _some_text, "strategies"),
    "model": CommandForm("NAME", "answer with another model.", _some_text, "models"),
    "talk": CommandForm("PERSONA", "talk with another persona.", _some_text, "personas"),
    "thoughts": CommandForm("", "show what the model thought before the last answer.", _no_argument),
    "greeting": CommandForm("N", "begin a new conversation with greeting N of the card.", _number),
    "compare": CommandForm(
        "[NAME NAME …]",
        "let two to four strategies or models answer your last line.",
        _names_to_compare,
    ),
    "conversations": CommandForm(
        "[N]", "list the conversations, the latest first, or go to conversation N.", _perhaps_number
    ),
    "export": CommandForm(
        "[FILE]", "write the conversation to a file: .md, .json, or .jsonl for SillyTavern.", _text
    ),
    "set": CommandForm(
        "[NAME VALUE]",
        f"show the settings, or change one, as in /set temperature 0.8; the value {DEFAULT} resets it.",
        _setting,
        "settings",
    ),
    "rest": CommandForm("", "run the rest of your own command that stopped.", _no_argument),
    "help": CommandForm("", "list the commands.", _no_argument),
    "quit": CommandForm("", "quit, like Ctrl-D. All messages are saved.", _no_argument),
}
_NAMES: dict[str, Name] = {name: name for name in FORMS}

"""The commands of a chat, in the app and in plain mode."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from rolellm_agents.errors import MessageError
from rolellm_agents.text import did_you_mean, one_line, replace_surrogates
from rolellm_tui.slash.arguments import (
    ALL,
    CLEAR,
    CommandForm,
    read_direction_or_number,
    read_nothing,
    read_number,
    read_number_and_text,
    read_one_of,
    read_perhaps_number,
    read_some_text,
    read_text,
)
from rolellm_tui.slash.completion import Offered, offered_form

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
    "you",
    "rest",
    "quit",
]
DEFAULT = "default"
"""Value of `/set` that resets a setting."""
MOST_COMPARED = 4
"""The most voices of `/compare`."""


@dataclass(frozen=True)
class Command:
    """A command with its arguments."""

    name: Name
    text: str = ""
    number: int = 0
    """From 1; 0 if none was given."""


OPENING: frozenset[Name] = frozenset(
    {"new", "strategy", "model", "talk", "greeting", "conversations", "set", "you", "quit"}
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


def offered_commands() -> list[Offered]:
    """The commands as completion offers them."""
    return [offered_form(name, form) for name, form in FORMS.items()]


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


def _perhaps_all(rest: str) -> tuple[str, int]:
    return read_one_of(rest, "", ALL)


def _names_to_compare(rest: str) -> tuple[str, int]:
    if rest and not 2 <= len(rest.split()) <= MOST_COMPARED:
        raise ValueError(rest)
    return rest, 0


def _setting(rest: str) -> tuple[str, int]:
    if rest and len(rest.split()) < 2:
        raise ValueError(rest)
    return rest, 0


FORMS: dict[Name, CommandForm] = {
    "again": CommandForm("", "generate another answer to your last line.", read_nothing),
    "continue": CommandForm("", "continue the last answer.", read_nothing),
    "swipe": CommandForm(
        "left, right or N",
        "go to the previous or next answer, or to answer N.",
        read_direction_or_number,
        "directions",
    ),
    "edit": CommandForm(
        "N TEXT",
        "replace the text of message N; your own messages are answered again.",
        read_number_and_text,
    ),
    "delete": CommandForm(
        "N", "delete message N and all that follow it; /undo takes them back.", read_number
    ),
    "undo": CommandForm("", "undo.", read_nothing),
    "redo": CommandForm("", "redo.", read_nothing),
    "branch": CommandForm(
        "N", "start a new branch after message N; later messages stay on the old one.", read_number
    ),
    "branches": CommandForm(
        "[N]", "list the branches, or go to branch N.", read_perhaps_number, "branches"
    ),
    "history": CommandForm("", "print the conversation with message numbers.", read_nothing),
    "note": CommandForm(
        "[TEXT]", f"show or set the author's note; /note {CLEAR} removes it.", read_text, "note"
    ),
    "summary": CommandForm(
        "[TEXT]",
        "show or replace the summary of the messages that no longer fit into the prompt; "
        f"/summary {CLEAR} removes it.",
        read_text,
        "summary",
    ),
    "why": CommandForm(
        f"[{ALL}]",
        "show the provenance of the last answer; all prints the complete prompt.",
        _perhaps_all,
        "why",
    ),
    "find": CommandForm("TEXT", "find the messages that contain a text.", read_some_text),
    "write": CommandForm("", "let the model write your next line.", read_nothing),
    "new": CommandForm("", "start a new conversation with the same persona.", read_nothing),
    "strategy": CommandForm("NAME", "answer with another strategy.", read_some_text, "strategies"),
    "model": CommandForm("NAME", "answer with another model.", read_some_text, "models"),
    "talk": CommandForm("PERSONA", "talk with another persona.", read_some_text, "personas"),
    "thoughts": CommandForm("", "show what the model thought before the last answer.", read_nothing),
    "greeting": CommandForm("N", "begin a new conversation with greeting N of the card.", read_number),
    "compare": CommandForm(
        "[NAME NAME …]",
        "let two to four strategies or models answer your last line.",
        _names_to_compare,
    ),
    "conversations": CommandForm(
        "[N]", "list the conversations, the latest first, or go to conversation N.", read_perhaps_number
    ),
    "export": CommandForm(
        "[FILE]", "write the conversation to a file: .md, .json, or .jsonl for SillyTavern.", read_text
    ),
    "set": CommandForm(
        "[NAME VALUE]",
        f"show the settings, or change one, as in /set temperature 0.8; the value {DEFAULT} resets it.",
        _setting,
        "settings",
        text_follows=True,
    ),
    "you": CommandForm(
        "[ID, or NAME: DESCRIPTION]",
        "list your user personas, go on as one of them, or describe one and go on as it, as in "
        f"/you Captain Flint: An old sailor; /you {DEFAULT} goes on as none.",
        read_text,
        "user personas",
    ),
    "rest": CommandForm("", "run the rest of your own command that stopped.", read_nothing),
    "help": CommandForm("", "list the commands.", read_nothing),
    "quit": CommandForm("", "quit, like Ctrl-D. All messages are saved.", read_nothing),
}
_NAMES: dict[str, Name] = {name: name for name in FORMS}

"""What a line typed in plain mode asks for: pure, so that every line has an answer known beforehand."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from rolellm_agents.errors import MessageError
from rolellm_agents.text import did_you_mean, one_line, whole

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
    "why",
    "quit",
]
ALL = "all"
"""What `/why` takes to tell everything."""
CLEAR = "clear"
"""What `/note` takes to have no note any more."""


@dataclass(frozen=True)
class Command:
    """Something to do, with what is needed for it."""

    name: Name
    text: str = ""
    number: int = 0
    """Counted from one; 0 where none was given."""


@dataclass(frozen=True)
class _Form:
    """How a command is written."""

    arguments: str
    meaning: str
    read: Callable[[str], tuple[str, int]]
    """The text and the number in what stands after the command; a ValueError where they do not."""


def parse(line: str) -> Command:
    """Read a line: one that begins with a slash is a command, two slashes stand for one, all else is said.

    Raises:
        MessageError: there is no such command, or it is written otherwise.
    """
    line = whole(line).strip()
    if not line.startswith("/") or line.startswith("//"):
        return Command("say", line.removeprefix("/") if line.startswith("//") else line)
    word, rest = [*line[1:].split(maxsplit=1), "", ""][:2]
    found = _NAMES.get(word.casefold())
    if found is None:
        name = one_line(word, 40)
        raise MessageError(
            f"There is no command /{name}{did_you_mean(name, _NAMES)}; /help lists them, and // begins a "
            "line that is said with a slash."
        )
    try:
        text, number = _FORMS[found].read(rest)
    except ValueError:
        raise MessageError(f"It is written {_usage(found)}; /help tells more.") from None
    return Command(found, text, number)


def help_lines() -> list[str]:
    """One sentence for each command."""
    return [f"{_usage(name)}: {form.meaning}" for name, form in _FORMS.items()]


def _usage(name: Name) -> str:
    return f"/{name} {_FORMS[name].arguments}".rstrip()


def _nothing(rest: str) -> tuple[str, int]:
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
    "again": _Form("", "have another answer to your last line.", _nothing),
    "continue": _Form("", "let the last answer go on.", _nothing),
    "swipe": _Form(
        "left, right or N",
        "go to the answer before, after, or to the one of that number.",
        _direction_or_number,
    ),
    "edit": _Form(
        "N TEXT", "put other words in place of message N; yours are answered anew.", _number_and_text
    ),
    "undo": _Form("", "take the last thing back.", _nothing),
    "redo": _Form("", "do it after all.", _nothing),
    "branch": _Form("N", "go on from message N in a new branch; what came after stays.", _number),
    "branches": _Form("[N]", "list the branches; with a number, go to that one.", _perhaps_number),
    "history": _Form("", "read the conversation, with the messages' numbers.", _nothing),
    "note": _Form(
        "[TEXT]", f"show or set the author's note, told with each line; /note {CLEAR} takes it away.", _text
    ),
    "why": _Form(f"[{ALL}]", "what the last answer was made of; all reads the whole prompt.", _perhaps_all),
    "help": _Form("", "list the commands.", _nothing),
    "quit": _Form("", "leave, as Ctrl-D does; everything said is kept.", _nothing),
}
_NAMES: dict[str, Name] = {name: name for name in _FORMS}

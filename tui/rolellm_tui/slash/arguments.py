"""Arguments of commands: how they are read, and from which sets they are completed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

ChoiceSet = Literal[
    "branches",
    "directions",
    "strategies",
    "models",
    "personas",
    "user personas",
    "note",
    "summary",
    "why",
    "settings",
    "seats",
    "seats and narrator",
    "directors",
]
"""A set from which an argument is completed."""
ALL = "all"
"""Argument of `/why` for the complete prompt."""
CLEAR = "clear"
"""Argument of `/note` and `/summary` that removes the text."""


@dataclass(frozen=True)
class CommandForm:
    """Syntax of a command."""

    arguments: str
    meaning: str
    read: Callable[[str], tuple[str, int]]
    """Parses the text and number after the command; raises ValueError."""
    choices: ChoiceSet | None = None
    """The set from which the argument is completed."""
    text_follows: bool = False
    """Whether more is typed after the completed argument."""


Argument = tuple[str, int]
"""The text and the number after a command."""


def read_nothing(rest: str) -> Argument:
    """No argument.

    Raises:
        ValueError: there is one; the same holds for the others.
    """
    if rest:
        raise ValueError(rest)
    return "", 0


def read_number(rest: str) -> Argument:
    """A number from 1."""
    number = int(rest) if rest.isdecimal() else 0
    if not number:
        raise ValueError(rest)
    return "", number


def read_perhaps_number(rest: str) -> Argument:
    """A number from 1, or nothing."""
    return read_number(rest) if rest else ("", 0)


def read_number_and_text(rest: str) -> Argument:
    """A number and a text."""
    number, text = rest.split(maxsplit=1)
    return text, read_number(number)[1]


def read_text(rest: str) -> Argument:
    """Any text, or nothing."""
    return rest, 0


def read_some_text(rest: str) -> Argument:
    """Any text."""
    if not rest:
        raise ValueError(rest)
    return rest, 0


def read_direction_or_number(rest: str) -> Argument:
    """`left`, `right` or a number from 1."""
    return read_number(rest) if rest.isdecimal() else read_one_of(rest, "left", "right")


def read_one_of(rest: str, *words: str) -> Argument:
    """One of the words."""
    if rest.casefold() not in words:
        raise ValueError(rest)
    return rest.casefold(), 0

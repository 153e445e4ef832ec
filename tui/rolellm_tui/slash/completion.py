"""Completion of a command that is being typed."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rolellm_tui.slash.arguments import ChoiceSet, CommandForm

MOST = 50
"""The most rows that are offered."""


@dataclass(frozen=True)
class Choice:
    """A value of an argument."""

    word: str
    about: str = ""


@dataclass(frozen=True)
class Completion:
    """A row of the list."""

    text: str
    """The text of the prompt if the row is chosen."""
    shown: str
    about: str
    is_whole: bool
    """Whether the command takes no further argument."""


def is_command(text: str) -> bool:
    """Whether the text of a prompt is a command: one line that starts with one slash."""
    typed = text.strip()
    return typed.startswith("/") and not typed.startswith("//") and "\n" not in typed


@dataclass(frozen=True)
class Offered:
    """A command that is offered."""

    name: str
    arguments: str
    meaning: str
    choices: ChoiceSet | None = None
    """The set from which the argument is completed."""
    text_follows: bool = False
    """Whether more is typed after the completed argument."""


def offered_form(name: str, form: CommandForm) -> Offered:
    """A command of a table."""
    return Offered(name, form.arguments, form.meaning, form.choices, form.text_follows)


def completions(
    text: str, offered: Iterable[Offered], choices: Callable[[ChoiceSet], Sequence[Choice]]
) -> list[Completion]:
    """The rows for a text; none if it is no command or its argument comes from no set.

    Args:
        text: the text of the prompt.
        offered: all commands.
        choices: the values of a set.
    """
    if "\n" in text or not is_command(text):
        return []
    word, blank, typed = text.lstrip()[1:].partition(" ")
    word = word.casefold()
    if not blank:
        return [_name_row(one) for one in offered if one.name.startswith(word)]
    found = next((one for one in offered if one.name == word), None)
    return _values(found, typed, choices) if found else []


def _name_row(one: Offered) -> Completion:
    shown = f"/{one.name} {one.arguments}".rstrip()
    return Completion(
        f"/{one.name} " if one.arguments else f"/{one.name}", shown, one.meaning, not one.arguments
    )


def _values(
    found: Offered, typed: str, choices: Callable[[ChoiceSet], Sequence[Choice]]
) -> list[Completion]:
    if found.choices is None:
        return []
    sought = typed.strip().casefold()
    matching = [one for one in choices(found.choices) if sought in one.word.casefold()]
    # Those that begin with the typed letters come first.
    matching.sort(key=lambda one: not one.word.casefold().startswith(sought))
    end = " " if found.text_follows else ""
    return [
        Completion(f"/{found.name} {one.word}{end}", one.word, one.about, not found.text_follows)
        for one in matching[:MOST]
    ]

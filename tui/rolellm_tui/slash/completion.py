"""Completion of a command that is being typed."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rolellm_tui.slash.commands import FORMS, ChoiceSet, usage
from rolellm_tui.slash.own import OwnCommand

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


def completions(
    text: str, own: Iterable[OwnCommand], choices: Callable[[ChoiceSet], Sequence[Choice]]
) -> list[Completion]:
    """The rows for a text; none if it is no command or its argument comes from no set.

    Args:
        text: the text of the prompt.
        own: the user's own commands.
        choices: the values of a set.
    """
    if "\n" in text or not is_command(text):
        return []
    word, blank, typed = text.lstrip()[1:].partition(" ")
    return _values(word.casefold(), typed, choices) if blank else _names(word.casefold(), own)


def _names(word: str, own: Iterable[OwnCommand]) -> list[Completion]:
    rows = [
        Completion(
            f"/{name} " if form.arguments else f"/{name}", usage(name), form.meaning, not form.arguments
        )
        for name, form in FORMS.items()
        if name.startswith(word)
    ]
    return rows + [
        Completion(
            f"/{one.name} " if one.takes_input else f"/{one.name}",
            f"/{one.name} [TEXT]" if one.takes_input else f"/{one.name}",
            one.meaning,
            not one.takes_input,
        )
        for one in own
        if one.name.startswith(word)
    ]


def _values(word: str, typed: str, choices: Callable[[ChoiceSet], Sequence[Choice]]) -> list[Completion]:
    found = next((form for name, form in FORMS.items() if name == word), None)
    if found is None or found.choices is None:
        return []
    sought = typed.strip().casefold()
    matching = [one for one in choices(found.choices) if sought in one.word.casefold()]
    # Those that begin with the typed letters come first.
    matching.sort(key=lambda one: not one.word.casefold().startswith(sought))
    # A setting needs a value after its name.
    end, is_whole = (" ", False) if found.choices == "settings" else ("", True)
    return [
        Completion(f"/{word} {one.word}{end}", one.word, one.about, is_whole) for one in matching[:MOST]
    ]

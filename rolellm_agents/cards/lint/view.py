"""The linter's view of a card: objects with the specified fields, texts, and lore entries."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, TypeAlias

from rolellm_agents.cards.card import Card
from rolellm_agents.cards.errors import CardError
from rolellm_agents.cards.json_text import json_path, printable
from rolellm_agents.cards.lore.decorators import Decorators, parse_decorators
from rolellm_agents.cards.lore.lorebook import LoreEntry
from rolellm_agents.cards.values import Json, mapping

Spots: TypeAlias = Iterator[tuple[str, str]]
"""Findings of a rule: a path, and the rest of a sentence that begins with the path."""


class Shape(NamedTuple):
    """The specified fields of an object, with the kind of each."""

    required: Mapping[str, str]
    optional: Mapping[str, str]


class Object(NamedTuple):
    """An object of a card with its specification."""

    where: str
    value: Mapping[str, Json]
    shape: Shape


class Lore(NamedTuple):
    """A lore entry."""

    where: str
    entry: LoreEntry
    decorators: Decorators
    head: tuple[str, ...]
    """The lines of the decorators."""
    body: str

    @property
    def keys(self) -> Iterator[tuple[str, str]]:
        """All keys of the entry with their paths."""
        decorators = self.decorators
        in_content = (
            *decorators.additional_keys,
            decorators.exclude_keys,
            decorators.exclude_keys_all,
        )
        yield from ((f"{self.where}.keys", key) for key in self.entry.keys)
        yield from ((f"{self.where}.secondary_keys", key) for key in self.entry.secondary_keys)
        yield from ((f"{self.where}.content", key) for key in chain(*in_content))


@dataclass(frozen=True)
class View:
    """The parts of a card that the rules check."""

    card: Card
    root: str
    """The path of the character's fields: `data`, or empty in V1."""
    objects: tuple[Object, ...]
    texts: tuple[tuple[str, str], ...]
    """All texts with their paths, except assets, sources and our own extensions."""
    lore: tuple[Lore, ...]


_TEXT, _NUMBER, _FLAG, _OBJECT = "a text", "a number", "true or false", "an object"
_TEXTS, _OBJECTS, _BY_LANGUAGE = "a list of texts", "a list of objects", "an object of texts"
_SIDE, _ID = "“before_char” or “after_char”", "a number or a text"

KINDS: dict[str, Callable[[Json], bool]] = {
    _TEXT: lambda value: isinstance(value, str),
    _NUMBER: lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    _FLAG: lambda value: isinstance(value, bool),
    _OBJECT: lambda value: isinstance(value, dict),
    _TEXTS: lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
    _OBJECTS: lambda value: isinstance(value, list) and all(isinstance(one, dict) for one in value),
    _BY_LANGUAGE: lambda value: isinstance(value, dict) and KINDS[_TEXTS]([*value.values()]),
    _SIDE: lambda value: value in ("before_char", "after_char"),
    _ID: lambda value: isinstance(value, str | int | float) and not isinstance(value, bool),
}
"""Checks whether a value is of a kind."""


def _fields(names: Mapping[str, str]) -> dict[str, str]:
    return {name: kind for kind, some in names.items() for name in some.split()}


V1 = Shape(_fields({_TEXT: "name description personality scenario first_mes mes_example"}), {})
ROOT = Shape(_fields({_TEXT: "spec spec_version", _OBJECT: "data"}), {})
_V2_TEXTS = "creator_notes system_prompt post_history_instructions creator character_version"
V2 = Shape(
    {
        **V1.required,
        **_fields({_TEXT: _V2_TEXTS, _TEXTS: "alternate_greetings tags", _OBJECT: "extensions"}),
    },
    {"character_book": _OBJECT},
)
_V3_NUMBERS = "creation_date modification_date"
V3 = Shape(
    {**V2.required, "group_only_greetings": _TEXTS},
    {
        **V2.optional,
        **_fields({_TEXT: "nickname", _TEXTS: "source", _NUMBER: _V3_NUMBERS, _OBJECTS: "assets"}),
        "creator_notes_multilingual": _BY_LANGUAGE,
    },
)
BOOK = Shape(
    {"extensions": _OBJECT, "entries": _OBJECTS},
    _fields({_TEXT: "name description", _NUMBER: "scan_depth token_budget", _FLAG: "recursive_scanning"}),
)
# `use_regex` belongs to V3, but SillyTavern writes it into every card.
_FLAGS = "case_sensitive constant selective use_regex"
ENTRY_V2 = Shape(
    _fields(
        {
            _TEXTS: "keys",
            _TEXT: "content",
            _OBJECT: "extensions",
            _FLAG: "enabled",
            _NUMBER: "insertion_order",
        }
    ),
    _fields(
        {
            _FLAG: _FLAGS,
            _TEXT: "name comment",
            _TEXTS: "secondary_keys",
            _NUMBER: "priority",
            _SIDE: "position",
            _ID: "id",
        }
    ),
)
ENTRY_V3 = Shape({**ENTRY_V2.required, "use_regex": _FLAG}, ENTRY_V2.optional)
ASSET = Shape(_fields({_TEXT: "type uri name ext"}), {})


def view(card: Card) -> View:
    """Collect the parts of a card; its JSON may be invalid."""
    root = "" if card.spec == "v1" else "data"
    return View(card, root, (*_objects(card, root),), (*_texts(root, card.data),), (*lore(card),))


def lore(card: Card) -> Iterator[Lore]:
    """The entries of a card's lorebook; empty if the lorebook cannot be read."""
    try:
        book = card.lorebook
    except CardError:
        return
    for (where, raw), entry in zip(_raw_entries(card), book.entries if book else (), strict=False):
        if entry.raw is raw:  # false for a lorebook in another program's format
            decorators, body = parse_decorators(entry.content)
            head = entry.content.removesuffix(body).split("\n")
            yield Lore(where, entry, decorators, tuple(line.strip() for line in head if line.strip()), body)


def listed(values: Iterable[str]) -> str:
    """The first three distinct values, quoted and truncated, for a message."""
    distinct = [*dict.fromkeys(values)]
    lines = [printable(text[:60]).replace("\n", "\\n") + "…" * (len(text) > 60) for text in distinct[:3]]
    shown = ", ".join(f"“{line}”" for line in lines)
    return f"{shown} and {len(distinct) - 3} more" if len(distinct) > 3 else shown


def _objects(card: Card, root: str) -> Iterator[Object]:
    yield Object("", card.document, ROOT if root else V1)
    if isinstance(card.document.get("data"), dict):
        yield Object("data", card.data, V3 if card.spec == "v3" else V2)
    if isinstance(book := card.data.get("character_book"), dict):
        yield Object(json_path(root, "character_book"), book, BOOK)
    for where, entry in _raw_entries(card):
        yield Object(where, entry, ENTRY_V3 if card.spec == "v3" else ENTRY_V2)
    if card.spec == "v3":
        for where, asset in _members("data.assets", card.data.get("assets")):
            yield Object(where, asset, ASSET)


def _raw_entries(card: Card) -> Iterator[tuple[str, Mapping[str, Json]]]:
    where = "character_book.entries" if card.spec == "v1" else "data.character_book.entries"
    return _members(where, mapping(card.data.get("character_book")).get("entries"))


def _members(where: str, value: Json) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """The objects in a list, or in an object with numbers as keys."""
    steps: Iterable[tuple[str | int, Json]] = ()
    if isinstance(value, list | dict):
        steps = value.items() if isinstance(value, dict) else enumerate(value)
    return ((json_path(where, step), one) for step, one in steps if isinstance(one, dict))


def _texts(root: str, data: Json) -> Iterator[tuple[str, str]]:
    left = [(root, data)]
    while left:
        where, value = left.pop()
        if isinstance(value, str):
            yield where, value
        elif isinstance(value, list):
            left += [(json_path(where, at), one) for at, one in reversed([*enumerate(value)])]
        elif isinstance(value, dict):
            skipped = ("assets", "source") if where == root else ()
            kept = [key for key in value if key not in skipped and not key.startswith("rolellm/")]
            left += [(json_path(where, key), value[key]) for key in reversed(kept)]

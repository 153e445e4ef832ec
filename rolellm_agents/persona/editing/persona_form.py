"""The form of a persona."""

from collections.abc import Iterator, Mapping
from typing import Any

from rolellm_agents.cards.lore.lorebook import DEFAULT_DEPTH, ROLES
from rolellm_agents.cards.values import mapping
from rolellm_agents.editing.form import Data, FormField, FormRow, ItemList, Kind, Path, value_at
from rolellm_agents.persona.editing.lore_form import book_list
from rolellm_agents.persona.from_card.conversion import CARD

ABOUT: Path = ("about",)
"""The row of the short fields."""
LOREBOOK: Path = ("lorebook",)
_DOCUMENT: Path = ("extensions", CARD, "document")

_ABOUT: tuple[tuple[Path, str, Kind], ...] = (
    (("name",), "Name", "line"),
    (("language",), "Language (en or zh)", "line"),
    (("category",), "Category", "line"),
    (("tags",), "Tags, one on each line", "words"),
    (("source", "work"), "Work that the character is from", "line"),
    (("source", "year"), "Year of the work", "number"),
    (("portrait",), "Portrait, a picture file beside the persona's file", "line"),
)
_TEXTS = {
    "description": "Description",
    "greeting": "Greeting",
    "moment": "Moment of the story",
}
_DEMONSTRATION: tuple[tuple[str, str, Kind], ...] = (
    ("user", "The user says", "text"),
    ("reply", "The character answers", "text"),
    ("place", "Place in the source", "line"),
)
_KNOWLEDGE: tuple[tuple[str, str, Kind], ...] = (
    ("title", "Title", "line"),
    ("text", "What the character knows, in the first person", "text"),
    ("place", "Place in the source", "line"),
)
_CARD: tuple[tuple[Path, str, Kind], ...] = (
    (("nickname",), "Name for {{char}}, if it differs", "line"),
    (("system_prompt",), "Instruction in place of ours ({{original}} inserts it)", "text"),
    (("post_history_instructions",), "Instruction after the conversation", "text"),
    (("extensions", "depth_prompt", "prompt"), "Character's note", "text"),
)


def persona_rows(data: Data) -> list[FormRow]:
    """The rows of a persona's form, from top to bottom."""
    return [*_rows(data)]


def _rows(data: Data) -> Iterator[FormRow]:
    about = (FormField(path, label, kind, value_at(data, path)) for path, label, kind in _ABOUT)
    yield FormRow(ABOUT, "About", tuple(about))
    for key, label in _TEXTS.items():
        yield FormRow((key,), label, (FormField((key,), label, "text", data.get(key)),))
    if card := _card_path(data):
        yield from _alternates(card).rows(data)
        yield FormRow(card, "Card's prompts", tuple(_card_fields(data, card)))
    yield from ItemList(("catchphrases",), "Catchphrases", _one_text("Catchphrase"), lambda _: "").rows(
        data
    )
    yield from ItemList(
        ("demonstrations",),
        "Demonstrations",
        lambda item: _fields_of(item, _DEMONSTRATION),
        lambda _: {"user": "", "reply": ""},
    ).rows(data)
    yield from ItemList(
        ("knowledge",),
        "Knowledge",
        lambda item: _fields_of(item, _KNOWLEDGE),
        lambda _: {"title": "", "text": ""},
    ).rows(data)
    if items := book_list(data, LOREBOOK):
        yield from items.rows(data)


def _fields_of(item: Any, fields: tuple[tuple[str, str, Kind], ...]) -> list[FormField]:
    if not isinstance(item, dict):
        return []
    return [FormField((key,), label, kind, item.get(key)) for key, label, kind in fields]


def _one_text(label: str) -> Any:
    return lambda item: [FormField((), label, "text", item)]


def _card_path(data: Data) -> Path | None:
    """The path of the character's fields in the card that the persona was made from."""
    document = mapping(value_at(data, _DOCUMENT))
    if not document:
        return None
    return (*_DOCUMENT, "data") if isinstance(document.get("data"), dict) else _DOCUMENT


def _alternates(card: Path) -> ItemList:
    path = (*card, "alternate_greetings")
    return ItemList(path, "Other greetings", _one_text("Greeting"), lambda _: "")


def _card_fields(data: Data, card: Path) -> Iterator[FormField]:
    for path, label, kind in _CARD:
        yield FormField((*card, *path), label, kind, value_at(data, (*card, *path)))
    note: Path = (*card, "extensions", "depth_prompt")
    given: Mapping[str, Any] = mapping(value_at(data, note))
    depth = given.get("depth", DEFAULT_DEPTH)
    yield FormField((*note, "depth"), "Messages after the character's note", "number", depth)
    role = given.get("role") if given.get("role") in ROLES else "system"
    choices = tuple((one, one) for one in ROLES)
    yield FormField((*note, "role"), "Role of the character's note", "choice", role, choices)

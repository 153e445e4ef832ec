"""Convert characters of other programs to V2 cards: Pygmalion, Agnai, CharacterGLM, Voxta.

The card keeps the original JSON in its `extensions`, so nothing is lost.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from rolellm_agents.cards.archive import Archive
from rolellm_agents.cards.card import Card
from rolellm_agents.cards.errors import CardError
from rolellm_agents.cards.json_text import read_json
from rolellm_agents.cards.values import Json, items, mapping, text, texts

ORIGIN = "rolellm/origin"
"""The key of a card's `extensions` that holds the original JSON."""
_VOXTA_PACKAGE = "package.json"
_GLM = {"bot_info", "bot_name", "greeting", "user_info", "user_name"}


def cards_of(document: Mapping[str, Json]) -> list[Card]:
    """The characters in another program's JSON; empty for an unknown format."""
    if "char_name" in document or "char_persona" in document:
        return [_pygmalion(document)]
    if document.get("kind") == "character" and "persona" in document:
        return [_agnai(document)]
    if document and all(isinstance(one, dict) and len(_GLM & set(one)) >= 3 for one in document.values()):
        return [_characterglm(name, one) for name, one in document.items()]
    return []


def is_voxta(archive: Archive) -> bool:
    """Whether an archive is a Voxta package."""
    return _VOXTA_PACKAGE in archive and any(path.startswith("Characters/") for path in archive)


def voxta_cards(archive: Archive, what: str) -> list[Card]:
    """The characters of a Voxta package, with their thumbnails.

    Raises:
        CardError: a character's JSON is damaged, or the package has no character.
    """
    cards = list(_voxta_characters(archive, what))
    if not cards:
        raise CardError(f"{what} holds no character.")
    return cards


def _voxta_characters(archive: Archive, what: str) -> Iterator[Card]:
    books = {
        text(book.get("Id")): book
        for path in archive
        if path.startswith("MemoryBooks/") and path.endswith(".json")
        for book in [read_json(archive[path], f"{path} in {what}")]
    }
    for path in archive:
        folder, _, file = path.rpartition("/")
        if path.startswith("Characters/") and file == "character.json":
            document = read_json(archive[path], f"{path} in {what}")
            thumbnail = f"{folder}/thumbnail.png"
            image = archive.get(thumbnail)
            yield _voxta(document, books, image)


def _voxta(document: Mapping[str, Json], books: Mapping[str, Json], image: bytes | None) -> Card:
    used = [books[name] for name in texts(document.get("MemoryBooks")) if name in books]
    entries = [
        {
            "keys": list(texts(item.get("Keywords"))),
            "content": text(item.get("Text")),
            "enabled": True,
            "insertion_order": number,
            "extensions": {},
        }
        for book in used
        for number, item in enumerate(items(mapping(book).get("Items")))
        if isinstance(item, dict)
    ]
    fields: dict[str, Any] = {
        "name": text(document.get("Name")),
        "description": _paragraphs(document.get("Description"), document.get("Profile")),
        "personality": text(document.get("Personality")),
        "scenario": text(document.get("Scenario")),
        "first_mes": text(document.get("FirstMessage")),
        "mes_example": text(document.get("MessageExamples")),
        "creator": text(document.get("Creator")),
        "creator_notes": text(document.get("CreatorNotes")),
        "character_version": text(document.get("Version")),
        "tags": list(texts(document.get("Tags"))),
    }
    if entries:
        fields["character_book"] = {"entries": entries, "extensions": {}}
    return _card("voxta", document, fields, image)


def _pygmalion(document: Mapping[str, Json]) -> Card:
    return _card(
        "pygmalion",
        document,
        {
            "name": text(document.get("char_name")),
            "description": text(document.get("char_persona")),
            "scenario": text(document.get("world_scenario")),
            "first_mes": text(document.get("char_greeting")),
            "mes_example": text(document.get("example_dialogue")),
        },
    )


def _agnai(document: Mapping[str, Json]) -> Card:
    fields: dict[str, Any] = {
        "name": text(document.get("name")),
        "description": _agnai_persona(mapping(document.get("persona"))),
        "personality": text(document.get("description")),
        "scenario": text(document.get("scenario")),
        "first_mes": text(document.get("greeting")),
        "mes_example": text(document.get("sampleChat")),
        "tags": list(texts(document.get("tags"))),
        "system_prompt": text(document.get("systemPrompt")),
        "post_history_instructions": text(document.get("postHistoryInstructions")),
        "alternate_greetings": list(texts(document.get("alternateGreetings"))),
    }
    book = document.get("characterBook")
    if isinstance(book, dict) and "entries" in book:
        fields["character_book"] = book
    return _card("agnai", document, fields)


def _agnai_persona(persona: Mapping[str, Json]) -> str:
    """Attributes as lines such as “species: robot”; the attribute `text` is free text."""
    attributes = mapping(persona.get("attributes"))
    lines = [
        ", ".join(texts(value)) if name == "text" else f"{name}: {', '.join(texts(value))}"
        for name, value in attributes.items()
    ]
    return "\n".join(lines)


def _characterglm(name: str, document: Mapping[str, Json]) -> Card:
    return _card(
        "characterglm",
        document,
        {
            "name": text(document.get("bot_name")) or name,
            "description": text(document.get("bot_info")),
            "scenario": text(document.get("user_info")),
            "first_mes": text(document.get("greeting")),
        },
    )


def _paragraphs(*parts: Json) -> str:
    return "\n\n".join(found for part in parts if (found := text(part).strip()))


def _card(
    origin: str, document: Mapping[str, Json], fields: Mapping[str, Json], image: bytes | None = None
) -> Card:
    texts_of_all = (
        *("name", "description", "personality", "scenario", "first_mes", "mes_example", "creator_notes"),
        *("system_prompt", "post_history_instructions", "creator", "character_version"),
    )
    data: dict[str, Any] = dict.fromkeys(texts_of_all, "")
    data |= {"tags": [], "alternate_greetings": [], **fields}
    data["extensions"] = {ORIGIN: {"format": origin, "document": dict(document)}}
    return Card({"spec": "chara_card_v2", "spec_version": "2.0", "data": data}, image)

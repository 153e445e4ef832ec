"""A character card as a persona, and a persona as a card again, without loss.

The persona keeps the card's JSON in its `extensions` and the card's lorebook in `lorebook`. On the way back
that JSON is the card, with what was changed in the persona since put into the fields it came from.
"""

import copy
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rolellm_agents.cards.card import Card
from rolellm_agents.cards.macros import MacroScope, substitute
from rolellm_agents.cards.values import mapping, text
from rolellm_agents.errors import PersonaError
from rolellm_agents.persona import Demonstration, Persona
from rolellm_agents.text import one_line, whole
from rolellm_agents.text.language import Language, language_of

CARD = "card"
"""The key of `Persona.extensions` under which the card rests."""
PERSONA = "rolellm/persona"
"""The key of a card's `extensions` under which a persona rests that was none before."""
_BOOK = "character_book"
_START = re.compile(r"^\s*<START>\s*$", re.IGNORECASE | re.MULTILINE)
_LABELS: dict[Language, tuple[str, str]] = {
    "en": ("Personality: ", "Scenario: "),
    "zh": ("性格：", "场景："),
}


def persona_of(card: Card, persona_id: str, portrait: str | None = None) -> Persona:
    """A card as a persona; its macros stay, to be filled when it speaks.

    Args:
        card: any card.
        persona_id: the persona's.
        portrait: the portrait's path beside the persona's file.
    """
    if restored := _restored(card):
        return restored.model_copy(update={"id": persona_id, "portrait": portrait})
    language = language_of(card.description + card.greetings[0])
    personality, scenario = _LABELS[language]
    parts = (
        card.description,
        *_labelled(personality, card.personality),
        *_labelled(scenario, card.scenario),
    )
    description = "\n\n".join(part.strip() for part in parts if part.strip())
    document = _clean(copy.deepcopy(dict(card.document)))
    data = document["data"] if isinstance(document.get("data"), dict) else document
    book = data.get(_BOOK)
    lorebook = None
    if isinstance(book, dict):
        lorebook, data[_BOOK] = book, None
    return Persona(
        id=persona_id,
        name=one_line(card.name),
        language=language,
        tags=tuple(dict.fromkeys(tag for one in card.tags if (tag := one_line(one)))),
        description=whole(description) or one_line(card.name),
        greeting=whole(card.greetings[0]).strip(),
        demonstrations=tuple(_demonstrations(whole(card.examples), card)),
        lorebook=lorebook,
        portrait=portrait,
        extensions={CARD: {"document": document, "files": sorted(card.files)}},
    )


def card_of(persona: Persona, image: bytes | None, files: Mapping[str, bytes]) -> Card:
    """A persona as a card: the one it came from, with its changes; or a new one of V3.

    Args:
        persona: any persona.
        image: its portrait.
        files: what else belongs to it, by path.
    """
    kept = mapping(persona.extensions.get(CARD))
    if not isinstance(kept.get("document"), dict):
        return Card(_new_document(persona), image, files)
    document = copy.deepcopy(dict(mapping(kept["document"])))
    data = document["data"] if isinstance(document.get("data"), dict) else document
    if persona.lorebook is not None:
        data[_BOOK] = copy.deepcopy(dict(persona.lorebook))
    card = Card(document, image, files)
    _put_changes(data, persona, persona_of(card, persona.id))
    return card


def greetings_of(persona: Persona) -> tuple[str, ...]:
    """What the persona may say first: its greeting, and the alternates of its card."""
    document = mapping(mapping(persona.extensions.get(CARD)).get("document"))
    alternates = Card(document).greetings[1:] if document else ()
    return tuple(one for one in (persona.greeting, *alternates) if one.strip())


def with_greeting(persona: Persona, number: int) -> Persona:
    """The persona with another of its card's greetings, counted from 0.

    Raises:
        PersonaError: it has not so many.
    """
    greetings = greetings_of(persona)
    if not 0 <= number < len(greetings):
        raise PersonaError(
            f"{persona.name} has {len(greetings)} greetings; give a number from 0 to {len(greetings) - 1}."
            if greetings
            else f"{persona.name} has no greeting."
        )
    return persona.model_copy(update={"greeting": greetings[number]})


def with_macros(persona: Persona, user: str) -> Persona:
    """The persona with its macros filled: `{{char}}` is the character, `{{user}}` is who talks with it.

    Args:
        persona: one without macros comes back as it is.
        user: the person's display name.
    """
    held = (
        persona.description,
        persona.greeting,
        *(words for pair in persona.demonstrations for words in (pair.user, pair.reply)),
    )
    if not any("{{" in str(part) or "<" in str(part) for part in held):
        return persona
    scope = MacroScope(char=called(persona), user=user, description=persona.description)

    def filled(words: str) -> str:
        return str(substitute(words, scope)).strip()

    return persona.model_copy(
        update={
            "description": filled(persona.description) or persona.name,
            "greeting": filled(persona.greeting),
            "demonstrations": tuple(
                pair.model_copy(
                    update={"user": filled(pair.user) or "...", "reply": filled(pair.reply) or "..."}
                )
                for pair in persona.demonstrations
            ),
        }
    )


def called(persona: Persona) -> str:
    """What `{{char}}` stands for: the card's nickname, or the name."""
    document = mapping(mapping(persona.extensions.get(CARD)).get("document"))
    return (Card(document).called if document else "") or persona.name


def read_portrait(persona: Persona, folder: Path) -> bytes | None:
    """The portrait's bytes; None when there is none.

    Raises:
        PersonaError: the file is not there.
    """
    if persona.portrait is None:
        return None
    path = folder / persona.portrait
    try:
        return path.read_bytes()
    except OSError as error:
        raise PersonaError(f"The portrait {path} cannot be read ({error.strerror}).") from error


def _labelled(label: str, words: str) -> Iterator[str]:
    if words.strip():
        yield label + words.strip()


def _demonstrations(examples: str, card: Card) -> Iterator[Demonstration]:
    """Pairs out of example dialogues: what the user says, and the answer; other lines go on with theirs."""
    for block in _START.split(examples):
        said: list[tuple[bool, str]] = []
        for line in block.strip().splitlines():
            who, words = _speaker(line, card)
            if who is None and said:
                said[-1] = (said[-1][0], f"{said[-1][1]}\n{line}")
            elif who is not None:
                said.append((who, words))
        yield from _paired(said)


def _speaker(line: str, card: Card) -> tuple[bool | None, str]:
    """Whether the user speaks, and what; None when nobody new does."""
    for names, is_user in (
        (("{{user}}", "<user>", "you", "user"), True),
        (("{{char}}", "<bot>", card.name), False),
    ):
        for name in names:
            if name and line.casefold().startswith(f"{name.casefold()}:"):
                return is_user, line[len(name) + 1 :]
    return None, line


def _paired(said: Iterable[tuple[bool, str]]) -> Iterator[Demonstration]:
    asked = ""
    for is_user, words in said:
        if is_user:
            asked = words.strip()
        elif asked and words.strip():
            yield Demonstration(user=asked, reply=words.strip())
            asked = ""


def _put_changes(data: dict[str, Any], persona: Persona, base: Persona) -> None:
    """Write into the card what was changed in the persona since it was imported."""
    if persona.name != base.name:
        data["name"] = persona.name
    if persona.description != base.description:
        data |= {"description": persona.description, "personality": "", "scenario": ""}
    if persona.greeting != base.greeting:
        data["first_mes"] = persona.greeting
    if persona.tags != base.tags:
        data["tags"] = list(persona.tags)
    if persona.demonstrations != base.demonstrations:
        data["mes_example"] = _examples(persona.demonstrations)


def _new_document(persona: Persona) -> dict[str, Any]:
    """A card of V3 for a persona that never was one; the persona itself rests in it."""
    own = persona.model_dump(mode="json", exclude={"lorebook", "portrait"}, exclude_defaults=True)
    known_for = f"\n\n{{{{char}}}} says: {' / '.join(persona.catchphrases)}" if persona.catchphrases else ""
    book = dict(persona.lorebook) if persona.lorebook is not None else _knowledge_book(persona)
    source = persona.source
    notes = f"{persona.name} of {source.work} ({source.year})." if source else ""
    return {
        "spec": "chara_card_v3",
        "spec_version": "3.0",
        "data": {
            "name": persona.name,
            "description": persona.description + known_for,
            "personality": "",
            "scenario": "",
            "first_mes": persona.greeting,
            "mes_example": _examples(persona.demonstrations),
            "creator_notes": notes,
            "system_prompt": "",
            "post_history_instructions": "",
            "alternate_greetings": [],
            "group_only_greetings": [],
            "tags": list(persona.tags),
            "creator": "",
            "character_version": "",
            **({_BOOK: book} if book else {}),
            "extensions": {PERSONA: own},
        },
    }


def _knowledge_book(persona: Persona) -> dict[str, Any]:
    """What the persona knows as lore: each piece answers to the words of its title."""
    entries = [
        {
            "keys": re.findall(r"\w[\w'’-]{3,}|[\u3400-\u9fff]{2,}", piece.title) or [piece.title],
            "content": f"{{{{char}}}}: {piece.text}",
            "extensions": {},
            "enabled": True,
            "insertion_order": number,
            "use_regex": False,
            "name": piece.title,
        }
        for number, piece in enumerate(persona.knowledge, 1)
    ]
    return {"name": persona.name, "extensions": {}, "entries": entries} if entries else {}


def _restored(card: Card) -> Persona | None:
    """The persona that rests in a card which was made of it, unless the card was changed since."""
    own = card.extensions.get(PERSONA)
    if not isinstance(own, dict):
        return None
    try:
        persona = Persona.model_validate(own)
    except ValueError:
        return None
    made = _new_document(persona)["data"]
    told = ("name", "description", "first_mes", "mes_example")
    return persona if all(text(card.data.get(name)) == made[name] for name in told) else None


def _examples(pairs: Iterable[Demonstration]) -> str:
    return "\n".join(f"<START>\n{{{{user}}}}: {pair.user}\n{{{{char}}}}: {pair.reply}" for pair in pairs)


def _clean(value: Any) -> Any:
    """JSON that a YAML file can hold: no character that is cut in half."""
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, list):
        return [_clean(one) for one in value]
    if isinstance(value, dict):
        return {whole(str(key)): _clean(one) for key, one in value.items()}
    return value


__all__ = [
    "CARD",
    "PERSONA",
    "called",
    "card_of",
    "greetings_of",
    "persona_of",
    "read_portrait",
    "with_greeting",
    "with_macros",
]

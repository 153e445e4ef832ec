"""Convert character cards to personas and back without loss.

The persona keeps the card's JSON in `extensions` and the card's lorebook in `lorebook`. The way back starts
from that JSON and updates the fields that were changed in the persona since.
"""

import copy
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rolellm_agents.cards.card import Card
from rolellm_agents.cards.macros import MacroScope, substitute
from rolellm_agents.cards.values import mapping, text
from rolellm_agents.errors import PersonaError
from rolellm_agents.persona import Demonstration, Persona
from rolellm_agents.text import one_line, replace_surrogates
from rolellm_agents.text.language import Language, language_of

CARD = "card"
"""The key of `Persona.extensions` that holds the card."""
PERSONA = "rolellm/persona"
"""The key of a card's `extensions` that holds the persona it was created from."""
_BOOK = "character_book"
_START = re.compile(r"^\s*<START>\s*$", re.IGNORECASE | re.MULTILINE)
_LABELS: dict[Language, tuple[str, str]] = {
    "en": ("Personality: ", "Scenario: "),
    "zh": ("性格：", "场景："),
}


def persona_of(card: Card, persona_id: str, portrait: str | None = None) -> Persona:
    """Convert a card to a persona; macros stay and are filled by `with_macros`.

    The portrait's path is relative to the persona's file.
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
        tags=tuple(dict.fromkeys(filter(None, map(one_line, card.tags)))),
        description=replace_surrogates(description) or one_line(card.name),
        greeting=replace_surrogates(card.greetings[0]).strip(),
        demonstrations=tuple(_demonstrations(replace_surrogates(card.examples), card)),
        lorebook=lorebook,
        portrait=portrait,
        extensions={CARD: {"document": document, "files": sorted(card.files)}},
    )


def card_of(persona: Persona, image: bytes | None, files: Mapping[str, bytes]) -> Card:
    """Convert a persona to a card: its original card with the persona's changes, or a new V3 card.

    `image` is the portrait; `files` has the other files of the persona, by path.

    Raises:
        PersonaError: the card that the persona keeps is invalid.
    """
    kept = mapping(persona.extensions.get(CARD))
    if not isinstance(kept.get("document"), dict):
        return Card(_new_document(persona), image, files)
    document = copy.deepcopy(dict(mapping(kept["document"])))
    data = document["data"] if isinstance(document.get("data"), dict) else document
    if persona.lorebook is not None:
        data[_BOOK] = copy.deepcopy(dict(persona.lorebook))
    card = Card(document, image, files)
    try:
        imported = persona_of(card, persona.id)
    except ValueError as error:  # pydantic's; the file may have been changed by hand
        raise PersonaError(
            f"The card in {persona.id}’s extensions is invalid, so it cannot be exported; remove it there."
        ) from error
    _put_changes(data, persona, imported)
    return card


def greetings_of(persona: Persona) -> tuple[str, ...]:
    """The persona's greeting and the alternative greetings of its card."""
    card = kept_card(persona)
    alternates = card.greetings[1:] if card else ()
    return tuple(greeting for greeting in (persona.greeting, *alternates) if greeting.strip())


def with_greeting(persona: Persona, number: int) -> Persona:
    """The persona with the greeting of this number from `greetings_of`, counted from 0.

    Raises:
        PersonaError: there is no greeting of this number.
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
    """Fill a persona's macros: `{{char}}` is the character's name, `{{user}}` the user's.

    A persona without macros is returned unchanged.
    """
    texts = (
        persona.description,
        persona.moment,
        persona.greeting,
        *(words for pair in persona.demonstrations for words in (pair.user, pair.reply)),
    )
    if not any("{{" in str(text) or "<" in str(text) for text in texts):
        return persona
    scope = MacroScope(char=char_name(persona), user=user, description=persona.description)

    def filled(words: str) -> str:
        return str(substitute(words, scope)).strip()

    return persona.model_copy(
        update={
            "description": filled(persona.description) or persona.name,
            "moment": filled(persona.moment),
            "greeting": filled(persona.greeting),
            "demonstrations": tuple(
                pair.model_copy(
                    update={"user": filled(pair.user) or "...", "reply": filled(pair.reply) or "..."}
                )
                for pair in persona.demonstrations
            ),
        }
    )


def kept_card(persona: Persona) -> Card | None:
    """The card that the persona was imported from; None for a persona without one."""
    document = mapping(mapping(persona.extensions.get(CARD)).get("document"))
    return Card(document) if document else None


def char_name(persona: Persona) -> str:
    """The value of `{{char}}`: the card's nickname, or the persona's name."""
    card = kept_card(persona)
    return (card.char_name if card else "") or persona.name


def _labelled(label: str, words: str) -> Iterator[str]:
    if words.strip():
        yield label + words.strip()


def _demonstrations(examples: str, card: Card) -> Iterator[Demonstration]:
    """Pairs of user line and answer in example dialogues; a line without a speaker continues the last."""
    for block in _START.split(examples):
        turns: list[tuple[bool, str]] = []
        for line in block.strip().splitlines():
            is_user, words = _speaker(line, card)
            if is_user is None and turns:
                turns[-1] = (turns[-1][0], f"{turns[-1][1]}\n{line}")
            elif is_user is not None:
                turns.append((is_user, words))
        yield from _paired(turns)


def _speaker(line: str, card: Card) -> tuple[bool | None, str]:
    """Whether the user speaks, and the words; None for a line that does not begin with a name."""
    for names, is_user in (
        (("{{user}}", "<user>", "you", "user"), True),
        (("{{char}}", "<bot>", card.name), False),
    ):
        for name in names:
            if name and line.casefold().startswith(f"{name.casefold()}:"):
                return is_user, line[len(name) + 1 :]
    return None, line


def _paired(turns: Iterable[tuple[bool, str]]) -> Iterator[Demonstration]:
    user_line = ""
    for is_user, words in turns:
        if is_user:
            user_line = words.strip()
        elif user_line and words.strip():
            yield Demonstration(user=user_line, reply=words.strip())
            user_line = ""


def _put_changes(data: dict[str, Any], persona: Persona, base: Persona) -> None:
    """Update the card's fields where the persona differs from its imported state."""
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
    """A V3 card for a persona without a card; its extensions hold the persona."""
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
            "scenario": persona.moment,
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
    """The persona's knowledge as a lorebook; the keys of each entry are the words of its title."""
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
    """The persona that a card was created from, unless the card was changed since."""
    own = card.extensions.get(PERSONA)
    if not isinstance(own, dict):
        return None
    try:
        persona = Persona.model_validate(own)
    except ValueError:
        return None
    original = _new_document(persona)["data"]
    fields = ("name", "description", "first_mes", "mes_example")
    return persona if all(text(card.data.get(name)) == original[name] for name in fields) else None


def _examples(pairs: Iterable[Demonstration]) -> str:
    return "\n".join(f"<START>\n{{{{user}}}}: {pair.user}\n{{{{char}}}}: {pair.reply}" for pair in pairs)


def _clean(value: Any) -> Any:
    """JSON without lone surrogates, which YAML cannot represent."""
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {replace_surrogates(str(key)): _clean(item) for key, item in value.items()}
    return value

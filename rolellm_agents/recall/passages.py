"""Passages: the pieces of a persona's file, its lorebooks and earlier chats that can be recalled."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from rolellm_agents.cards import Lorebook, LoreEntry, MacroScope, substitute
from rolellm_agents.cards.lore.decorators import NO_DECORATORS, parse_decorators
from rolellm_agents.persona import Persona
from rolellm_agents.persona.from_card.conversion import char_name
from rolellm_agents.text import replace_surrogates

Kind = Literal["demonstration", "knowledge", "lore", "memory"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_CERTAIN = 100.0
"""The probability in percent of entries that are always activated by their keys."""


@dataclass(frozen=True)
class Passage:
    """One retrievable piece."""

    kind: Kind
    text: str
    """The text that is searched and shown."""
    source: str
    """Its origin, in a few words."""
    index: int = 0
    """Its index in the persona's list of this kind; for lore and memories, the order of reading."""

    @property
    def id(self) -> str:
        """A digest of kind and text; equal texts have equal ids."""
        return hashlib.sha256(f"{self.kind}\n{self.text}".encode()).hexdigest()[:32]


def demonstrations_of(persona: Persona) -> list[Passage]:
    """A persona's demonstrations, each with the user's line and the reply."""
    return [
        Passage(
            "demonstration",
            f"{pair.user}\n{pair.reply}",
            _source(f"{persona.id}, demonstration {number}", pair.place),
            number - 1,
        )
        for number, pair in enumerate(persona.demonstrations, 1)
    ]


def knowledge_of(persona: Persona) -> list[Passage]:
    """A persona's knowledge, each piece with its title."""
    return [
        Passage(
            "knowledge",
            f"{piece.title}\n{piece.text}",
            _source(f"{persona.id}, knowledge {number}", piece.place),
            number - 1,
        )
        for number, piece in enumerate(persona.knowledge, 1)
    ]


def lore_of(books: Iterable[Lorebook], persona: Persona, user: str) -> list[Passage]:
    """The lorebook entries whose only condition is a key."""
    scope = MacroScope(char=char_name(persona), user=user, description=persona.description, seed=0)
    passages: list[Passage] = []
    for book in books:
        for entry in filter(_is_free, book.entries):
            text = replace_surrogates(substitute(entry.content, scope)).strip()
            if text:
                source = replace_surrogates(
                    f"lore of {book.name or persona.name}, {entry.name or entry.uid}"
                )
                passages.append(Passage("lore", text, source, len(passages)))
    return passages


def _is_free(entry: LoreEntry) -> bool:
    """Constant entries are always in the prompt; entries with further conditions must not be recalled."""
    conditions = (
        entry.constant,
        entry.character_names,
        entry.character_tags,
        entry.triggers,
        entry.groups,
        entry.delay,
        entry.delay_until_recursion,
        entry.cooldown,
        entry.probability < _CERTAIN,
        entry.position == "outlet",
    )
    return entry.enabled and not any(conditions) and parse_decorators(entry.content)[0] == NO_DECORATORS


def _source(place: str, in_work: str) -> str:
    return f"{place} ({in_work})" if in_work else place

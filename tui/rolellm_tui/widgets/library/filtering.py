"""Searching and filtering personas, best match first."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from rolellm_agents.persona import FoundPersona
from rolellm_tui.widgets.library.persona_texts import LANGUAGES

Order = Literal["name", "recent"]


class Rank(IntEnum):
    """Rank of a field; lower is better."""

    NAME_BEGINS = 0
    NAME_WORD = 1
    NAME_PART = 2
    WORK = 3
    LABEL = 4
    TEXT = 5


@dataclass(frozen=True)
class Indexed:
    """A persona with normalized fields, with a space before each word."""

    found: FoundPersona
    names: tuple[str, ...]
    """The name, and the id for names in Chinese."""
    work: str
    labels: str
    text: str


@dataclass(frozen=True)
class PersonaQuery:
    """A query; all conditions must hold."""

    words: tuple[str, ...] = ()
    language: str | None = None
    category: str | None = None
    tag: str | None = None


def indexed(cast: Iterable[FoundPersona]) -> tuple[Indexed, ...]:
    """Index the cast for searching."""
    return tuple(_indexed(found) for found in cast)


def words_of(search: str) -> tuple[str, ...]:
    """The normalized words of a search text."""
    return tuple(_folded(search).split())


def matching_personas(cast: Sequence[Indexed], query: PersonaQuery) -> list[FoundPersona]:
    """The matching personas, best match first, otherwise in the order of `cast`.

    A Latin word must start a word of some field, or occur anywhere in the name; a Chinese word may occur
    anywhere. The rank of a persona is the sum over words.
    """
    ranked: list[tuple[int, FoundPersona]] = []
    for entry in cast:
        if _passes(entry, query):
            ranks = [rank for word in query.words if (rank := _rank(entry, word)) is not None]
            if len(ranks) == len(query.words):
                ranked.append((sum(ranks), entry.found))
    ranked.sort(key=lambda pair: pair[0])
    return [found for _, found in ranked]


def ordered(cast: Sequence[Indexed], order: Order, recent: Sequence[str]) -> tuple[Indexed, ...]:
    """Sort the cast by language and name, or by most recent conversation.

    Args:
        cast: the cast, sorted by language and name.
        order: the order of the result.
        recent: the ids of personas, ordered by their latest conversation, newest first.
    """
    if order == "name":
        return tuple(cast)
    positions = {persona_id: number for number, persona_id in enumerate(dict.fromkeys(recent))}
    return tuple(sorted(cast, key=lambda entry: positions.get(entry.found.persona.id, len(positions))))


def _passes(entry: Indexed, query: PersonaQuery) -> bool:
    persona = entry.found.persona
    return (
        query.language in (None, persona.language)
        and query.category in (None, persona.category)
        and (query.tag is None or query.tag in persona.tags)
    )


def _rank(entry: Indexed, word: str) -> Rank | None:
    beginning = f" {word}"
    if any(name.startswith(beginning) for name in entry.names):
        return Rank.NAME_BEGINS
    if any(beginning in name for name in entry.names):
        return Rank.NAME_WORD
    if any(word in name for name in entry.names):
        return Rank.NAME_PART
    text = beginning if word.isascii() else word
    for rank, field in ((Rank.WORK, entry.work), (Rank.LABEL, entry.labels), (Rank.TEXT, entry.text)):
        if text in field:
            return rank
    return None


def _indexed(found: FoundPersona) -> Indexed:
    persona = found.persona
    source = f"{persona.source.work} {persona.source.year}" if persona.source else ""
    language = f"{persona.language} {LANGUAGES.get(persona.language, '')}"
    return Indexed(
        found,
        names=(_folded(persona.name), _folded(persona.id)),
        work=_folded(source),
        labels=_folded(" ".join((persona.category, language, *persona.tags))),
        text=_folded(" ".join((persona.description, *persona.catchphrases))),
    )


def _folded(text: str) -> str:
    """Case-folded text without accents or punctuation, with a space before each word."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return "".join(f" {word}" for word in re.findall(r"[^\W_]+", plain))

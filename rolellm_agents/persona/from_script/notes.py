"""A model's notes about a role in a segment, and the check whether the segment supports them."""

import re
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from rolellm_agents.text.ai_talk import ai_talk
from rolellm_agents.text.language import Language, is_in_other_language
from rolellm_agents.text.near_copies import near_copies

_Short = Annotated[str, StringConstraints(strip_whitespace=True, min_length=2, max_length=80)]
_Long = Annotated[str, StringConstraints(strip_whitespace=True, min_length=10, max_length=600)]
_MOST = 3
_SHARED = 2
"""The least number of content words that a note shares with the lines that support it."""
_CONTENT = 4
"""The least letters of an English content word."""


class Note(BaseModel):
    """One fact or trait of the role in a segment."""

    model_config = ConfigDict(frozen=True)

    kind: Literal["knowledge", "trait"]
    title: _Short
    """A few words: a person, a place, an event, or a trait."""
    text: _Long
    """Knowledge in the first person and the role's own words; a trait in the third person."""
    line: Annotated[int, Field(ge=1, le=9_999)]
    """The number of the supporting line."""


class Notes(BaseModel):
    """A model's notes about one segment."""

    model_config = ConfigDict(frozen=True)

    notes: Annotated[list[Note], Field(max_length=_MOST)]


class Description(BaseModel):
    """A model's description of a role."""

    model_config = ConfigDict(frozen=True)

    description: _Long


def is_grounded(note: Note, lines: Sequence[str]) -> bool:
    """Whether the note's line exists, and shares content words with the note.

    The number of the note's line counts from 1.
    """
    if note.line > len(lines):
        return False
    near = " ".join(lines[max(0, note.line - 2) : note.line + 1])
    return len(_content_words(f"{note.title} {note.text}") & _content_words(near)) >= _SHARED


def is_usable(note: Note, language: Language) -> bool:
    """Whether the note is in the right language and has no assistant's phrases."""
    text = f"{note.title} {note.text}"
    return ai_talk(text) is None and not is_in_other_language(text, language)


def distinct_notes(notes: Sequence[Note]) -> list[int]:
    """The places of the notes that are not near copies of earlier ones."""
    later = {copy.second for copy in near_copies([note.text for note in notes])}
    return [number for number in range(len(notes)) if number not in later]


def _content_words(text: str) -> set[str]:
    """Longer words; of Chinese, pairs of characters."""
    text = text.casefold()
    han = re.findall(r"(?=([\u3400-\u9fff]{2}))", text)
    return {
        word for word in re.findall(r"[^\W\d_]+", text) if len(word) >= _CONTENT and word.isascii()
    } | set(han)

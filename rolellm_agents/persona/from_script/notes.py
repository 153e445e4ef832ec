"""What a model notes about a role while it reads a segment, and what of it stands in the segment."""

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
"""Words that a note must share with the lines it rests on."""
_TELLING = 4
"""Letters of a word that is worth sharing; in Chinese two characters are."""


class Note(BaseModel):
    """One thing that a segment tells of the role."""

    model_config = ConfigDict(frozen=True)

    kind: Literal["knowledge", "trait"]
    title: _Short
    """A few words: a person, a place, an event, or a trait."""
    text: _Long
    """Knowledge in the role's own words, in the first person; a trait in the third."""
    line: Annotated[int, Field(ge=1, le=9_999)]
    """The number of the line that shows it."""


class Notes(BaseModel):
    """All that a model notes about one segment."""

    model_config = ConfigDict(frozen=True)

    notes: Annotated[list[Note], Field(max_length=_MOST)]


class Description(BaseModel):
    """What a model writes about a role."""

    model_config = ConfigDict(frozen=True)

    description: _Long


def is_grounded(note: Note, lines: Sequence[str]) -> bool:
    """Whether the line that the note points at exists, and says in part what the note says.

    Args:
        note: points at a line by its number, from 1.
        lines: the segment's.
    """
    if note.line > len(lines):
        return False
    near = " ".join(lines[max(0, note.line - 2) : note.line + 1])
    return len(_telling(f"{note.title} {note.text}") & _telling(near)) >= _SHARED


def is_usable(note: Note, language: Language) -> bool:
    """Whether the note is in the right language, in nobody's voice but the role's."""
    text = f"{note.title} {note.text}"
    return ai_talk(text) is None and not is_in_other_language(text, language)


def first_of_their_kind(notes: Sequence[Note]) -> list[int]:
    """The places of the notes that do not say what an earlier one says."""
    later = {copy.second for copy in near_copies([note.text for note in notes])}
    return [number for number in range(len(notes)) if number not in later]


def _telling(text: str) -> set[str]:
    """Words of some length; of Chinese, pairs of characters."""
    text = text.casefold()
    han = re.findall(r"(?=([\u3400-\u9fff]{2}))", text)
    return {
        word for word in re.findall(r"[^\W\d_]+", text) if len(word) >= _TELLING and word.isascii()
    } | set(han)

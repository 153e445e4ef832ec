"""Cut what is known of a character into segments that fit a model, at the ends of scenes and sentences.

Nothing is lost and nothing invented: the lines of all segments, one after the other, are the text itself.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Final, Literal

from rolellm_agents.persona import Persona
from rolellm_agents.scripts.script import Script, ScriptPassage
from rolellm_agents.text import estimated_tokens
from rolellm_agents.text.language import Language

Source = Literal["script", "knowledge", "demonstrations", "description"]
"""What a segment is cut from."""

SOMEBODY: Final[dict[Language, str]] = {"en": "Somebody", "zh": "旁人"}
"""Who spoke to a persona in its demonstrations."""
_LINE_TOKENS = 80
"""A line should be no longer, so that the one that answers a question can be pointed at."""
_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s)\s+|[。！？…]+[\"'”’」』）]*\s*|\n+\s*")
_ABBREVIATION = re.compile(
    r"(?<!\w)(?:Mrs?|Ms|Mme|Mlle|Dr|St|Prof|Capt|Col|Gen|Lt|Sgt|Rev|Hon|No|vs|[A-Z])\.\s+\Z"
)
"""A full stop behind these ends no sentence."""


@dataclass(frozen=True)
class SourceLine:
    """A sentence or a few, as they stand in the source."""

    text: str
    place: str
    heading: str = ""
    """Who says it, or what it is about."""

    @property
    def shown(self) -> str:
        """What a model reads."""
        return f"{self.heading}: {self.text}" if self.heading else self.text


@dataclass(frozen=True)
class SourceSegment:
    """Lines in a row, of one scene or piece."""

    source: Source
    number: int
    """Among those of its source, from 0."""
    lines: tuple[SourceLine, ...]

    @property
    def text(self) -> str:
        """All lines as they are shown."""
        return "\n".join(line.shown for line in self.lines)


def script_segments(script: Script, names: Sequence[str], *, most: int) -> list[SourceSegment]:
    """The parts of a script in which the role speaks, in the script's order.

    Args:
        script: what to cut.
        names: under which the role speaks.
        most: tokens of a segment, by an estimate.
    """
    scenes = (list(held) for _, held in groupby(script.passages, key=lambda passage: passage.scene))
    pieces = (piece for scene in scenes for piece in _pieces(_script_lines(scene, most), most))
    spoken = (piece for piece in pieces if any(line.heading in names for line in piece))
    return [SourceSegment("script", number, tuple(piece)) for number, piece in enumerate(spoken)]


def knowledge_segments(persona: Persona, *, most: int) -> list[SourceSegment]:
    """What the persona knows, a piece of knowledge after the other, each cut if it is long."""
    pieces = [
        piece
        for told in persona.knowledge
        for piece in _pieces(_lines(told.text, told.place or told.title, told.title, most), most)
    ]
    return [SourceSegment("knowledge", number, tuple(piece)) for number, piece in enumerate(pieces)]


def demonstration_segments(persona: Persona, *, most: int) -> list[SourceSegment]:
    """What the persona has answered, each exchange for itself: they are of different conversations."""
    pieces: list[list[SourceLine]] = []
    for number, pair in enumerate(persona.demonstrations, 1):
        place = pair.place or f"demonstration {number}"
        asked = _lines(pair.user, place, SOMEBODY[persona.language], most)
        answered = _lines(pair.reply, place, persona.name, most)
        pieces += _pieces([*asked, *answered], most)
    return [SourceSegment("demonstrations", number, tuple(piece)) for number, piece in enumerate(pieces)]


def description_segments(persona: Persona, *, most: int) -> list[SourceSegment]:
    """Who the persona is, and its catchphrases."""
    told = [*_lines(persona.description, "description", "", most)]
    for phrase in persona.catchphrases:
        told += _lines(phrase, "catchphrases", persona.name, most)
    return [
        SourceSegment("description", number, tuple(piece))
        for number, piece in enumerate(_pieces(told, most))
    ]


def spread(count: int) -> list[int]:
    """The numbers below `count` in an order of which each beginning is spread over the whole.

    The van der Corput sequence: first, middle, quarters, eighths, and so on.
    """
    bits = max(1, (count - 1).bit_length())
    turned = (int(f"{number:0{bits}b}"[::-1], 2) for number in range(2**bits))
    return [number for number in turned if number < count]


def sentences_of(text: str) -> list[str]:
    """The sentences of a text with all that stands between them: put together they are the text again."""
    ends = [
        found.end()
        for found in _SENTENCE_END.finditer(text)
        if not _ABBREVIATION.search(text, max(0, found.end() - 12), found.end())
    ]
    borders = [0, *ends, len(text)]
    return [text[start:end] for start, end in pairwise(dict.fromkeys(borders))]


def _script_lines(scene: Iterable[ScriptPassage], most: int) -> Iterator[SourceLine]:
    for passage in scene:
        named = passage.speaker and passage.text.startswith(passage.speaker)
        # Plays print the name before the speech; novels have it in the words around.
        text = passage.text[len(passage.speaker) :].lstrip(".: \t\n") if named else passage.text
        yield from _lines(text, passage.place, passage.speaker, most)


def _lines(text: str, place: str, heading: str, most: int) -> Iterator[SourceLine]:
    """A text as lines of whole sentences; only a sentence that is longer than a segment is cut."""
    empty = SourceLine("", place, heading)
    longest = max(1, min(_LINE_TOKENS, most) - estimated_tokens(empty.shown) - 1)
    held = ""
    for sentence in sentences_of(text.strip()):
        parts = _cut(sentence, most - estimated_tokens(empty.shown) - 1)
        for part in parts:
            if held and estimated_tokens(held + part) > longest:
                yield SourceLine(_folded(held), place, heading)
                held = ""
            held += part
    if held.strip():
        yield SourceLine(_folded(held), place, heading)


def _folded(text: str) -> str:
    """One line needs one number."""
    return " ".join(text.split())


def _cut(sentence: str, most: int) -> Iterator[str]:
    """A sentence as it is, or, when it is too long, in parts that end between words if they can."""
    most = max(1, most)
    while estimated_tokens(sentence) > most:
        # A token is at least one character, so as many characters always fit.
        end = _fitting(sentence, most)
        space = sentence.rfind(" ", 1, end)
        end = space + 1 if space > 0 else end
        yield sentence[:end]
        sentence = sentence[end:]
    yield sentence


def _fitting(sentence: str, most: int) -> int:
    """How many first characters take no more than `most` tokens; at least one."""
    least, end = 1, min(len(sentence), 4 * most)
    while least < end:
        middle = (least + end + 1) // 2
        if estimated_tokens(sentence[:middle]) <= most:
            least = middle
        else:
            end = middle - 1
    return least


def _pieces(lines: Iterable[SourceLine], most: int) -> Iterator[list[SourceLine]]:
    held: list[SourceLine] = []
    size = 0
    for line in lines:
        tokens = estimated_tokens(line.shown) + 1
        if held and size + tokens > most:
            yield held
            held, size = [], 0
        held.append(line)
        size += tokens
    if held:
        yield held

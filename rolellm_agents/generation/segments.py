"""Split the sources about a character into segments that fit a model, at ends of scenes and sentences.

No text is lost or added: the lines of all segments, joined, are the text itself.
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
"""The source of a segment."""

SOMEBODY: Final[dict[Language, str]] = {"en": "Somebody", "zh": "旁人"}
"""Heading of the user's lines in demonstrations."""
_LINE_TOKENS = 80
"""Maximum tokens of a line, so that the evidence of a question is one short line."""
_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s)\s+|[。！？…]+[\"'”’」』）]*\s*|\n+\s*")
_ABBREVIATION = re.compile(
    r"(?<!\w)(?:Mrs?|Ms|Mme|Mlle|Dr|St|Prof|Capt|Col|Gen|Lt|Sgt|Rev|Hon|No|vs|[A-Z])\.\s+\Z"
)
"""Abbreviations whose full stop ends no sentence."""


@dataclass(frozen=True)
class SourceLine:
    """One or more sentences of the source."""

    text: str
    place: str
    heading: str = ""
    """The speaker, or the topic."""

    @property
    def shown(self) -> str:
        """The line as the prompt shows it."""
        return f"{self.heading}: {self.text}" if self.heading else self.text


@dataclass(frozen=True)
class SourceSegment:
    """Consecutive lines of one scene or passage."""

    source: Source
    number: int
    """Number among the segments of its source, from 0."""
    lines: tuple[SourceLine, ...]

    @property
    def text(self) -> str:
        """All lines as the prompt shows them."""
        return "\n".join(line.shown for line in self.lines)


def script_segments(script: Script, names: Sequence[str], *, most: int) -> list[SourceSegment]:
    """The parts of a script in which the role speaks, in the script's order.

    `most` is the estimated maximum number of tokens of a segment.
    """
    scenes = (list(held) for _, held in groupby(script.passages, key=lambda passage: passage.scene))
    pieces = (piece for scene in scenes for piece in _pieces(_script_lines(scene, most), most))
    spoken = (piece for piece in pieces if any(line.heading in names for line in piece))
    return [SourceSegment("script", number, tuple(piece)) for number, piece in enumerate(spoken)]


def knowledge_segments(persona: Persona, *, most: int) -> list[SourceSegment]:
    """The segments of the persona's knowledge; a long passage is split into several."""
    pieces = [
        piece
        for known in persona.knowledge
        for piece in _pieces(_lines(known.text, known.place or known.title, known.title, most), most)
    ]
    return [SourceSegment("knowledge", number, tuple(piece)) for number, piece in enumerate(pieces)]


def demonstration_segments(persona: Persona, *, most: int) -> list[SourceSegment]:
    """The segments of the persona's demonstrations; each exchange is separate from the others."""
    pieces: list[list[SourceLine]] = []
    for number, pair in enumerate(persona.demonstrations, 1):
        place = pair.place or f"demonstration {number}"
        question = _lines(pair.user, place, SOMEBODY[persona.language], most)
        reply = _lines(pair.reply, place, persona.name, most)
        pieces += _pieces([*question, *reply], most)
    return [SourceSegment("demonstrations", number, tuple(piece)) for number, piece in enumerate(pieces)]


def description_segments(persona: Persona, *, most: int) -> list[SourceSegment]:
    """The segments of the persona's description and catchphrases."""
    lines = [*_lines(persona.description, "description", "", most)]
    for phrase in persona.catchphrases:
        lines += _lines(phrase, "catchphrases", persona.name, most)
    return [
        SourceSegment("description", number, tuple(piece))
        for number, piece in enumerate(_pieces(lines, most))
    ]


def spread(count: int) -> list[int]:
    """The numbers below `count`, ordered so that each prefix is spread evenly over the range.

    This is the van der Corput sequence: first, middle, quarters, eighths, and so on.
    """
    bits = max(1, (count - 1).bit_length())
    turned = (int(f"{number:0{bits}b}"[::-1], 2) for number in range(2**bits))
    return [number for number in turned if number < count]


def sentences_of(text: str) -> list[str]:
    """Split a text into sentences with the white space between them; joined, they are the text again."""
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
        # Plays print the speaker's name before the speech; novels name the speaker in the narration.
        text = passage.text[len(passage.speaker) :].lstrip(".: \t\n") if named else passage.text
        yield from _lines(text, passage.place, passage.speaker, most)


def _lines(text: str, place: str, heading: str, most: int) -> Iterator[SourceLine]:
    """Split a text into lines of complete sentences; only a sentence longer than a segment is split."""
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
    """Collapse white space, so that a line of the prompt has no line break."""
    return " ".join(text.split())


def _cut(sentence: str, most: int) -> Iterator[str]:
    """Split a sentence that is too long into parts, between words if possible."""
    most = max(1, most)
    while estimated_tokens(sentence) > most:
        # The part has at least one character, so the loop ends.
        end = _fitting(sentence, most)
        space = sentence.rfind(" ", 1, end)
        end = space + 1 if space > 0 else end
        yield sentence[:end]
        sentence = sentence[end:]
    yield sentence


def _fitting(sentence: str, most: int) -> int:
    """Number of leading characters that take at most `most` tokens; at least one."""
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

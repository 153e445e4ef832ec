"""Read novels: attribute quotations to speakers by the words around them and by the alternation of turns.

The rules are the classic ones of quotation attribution (Elson and McKeown, AAAI 2010; O'Keefe et al., EMNLP
2012): a name beside a verb of speech, a pronoun, the addressee of the last speech, and the alternation of
turns. The certainty of each passage tells which rule gave its speaker.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from rolellm_agents.scripts.conversation import NovelConversation
from rolellm_agents.scripts.headings import is_heading, level, short_heading
from rolellm_agents.scripts.paragraphs import SourceParagraph, paragraphs
from rolellm_agents.scripts.people import People, find_people
from rolellm_agents.scripts.quotations import Marks, Quotation, marks_of, quotations
from rolellm_agents.scripts.script import Certainty, Script, ScriptPassage
from rolellm_agents.scripts.tags import find_narrator, likely_names
from rolellm_agents.text.language import Language

_FEWEST = 4


def read_novel(text: str, name: str, language: Language) -> Script | None:
    """Read a novel; `None` if the text has too few attributed speeches."""
    marks = marks_of(text)
    if marks is None:
        return None
    parts = [_cut(paragraph, marks) for paragraph in paragraphs(text)]
    people = _people(parts, language)
    passages = list(_NovelReader(NovelConversation(people, language)).read(parts))
    if sum(bool(passage.speaker) for passage in passages) < _FEWEST:
        return None
    return Script(
        title=_title(parts) or name,
        kind="novel",
        language=language,
        passages=tuple(_fill_backwards(passages)),
    )


@dataclass(frozen=True)
class _ParagraphPart:
    """A paragraph, split into quotations and narration."""

    line: int
    text: str
    said: tuple[Quotation, ...]
    is_open: bool

    @property
    def narration(self) -> str:
        """The paragraph with a bar in place of each quotation."""
        parts, at = [], 0
        for quotation in self.said:
            parts += [self.text[at : quotation.start], "|"]
            at = quotation.end
        return "".join([*parts, self.text[at:]])

    @property
    def speech(self) -> str:
        return " ".join(quotation.words for quotation in self.said)


def _cut(paragraph: SourceParagraph, marks: Marks) -> _ParagraphPart:
    said, is_open = quotations(paragraph.text, marks)
    return _ParagraphPart(paragraph.line, paragraph.text, tuple(said), is_open)


def _people(parts: Sequence[_ParagraphPart], language: Language) -> People:
    narration = [part.narration for part in parts]
    speeches = [part.speech for part in parts if part.said]
    narrator = find_narrator(narration, speeches, language)
    return find_people(likely_names(narration, language), "\n".join(narration), narrator)


@dataclass
class _NovelReader:
    """Reads paragraph after paragraph, and tracks chapters."""

    conversation: NovelConversation
    scene: int = -1
    headings: dict[int, str] = field(default_factory=dict)

    def read(self, parts: Sequence[_ParagraphPart]) -> Iterator[ScriptPassage]:
        for part in parts:
            if not part.said and is_heading(part.text):
                self._divide(part.text)
            elif part.said:
                speaker, certainty = self.conversation.attribute(
                    part.narration, part.speech, is_open=part.is_open
                )
                yield self._passage(part, speaker, certainty)
            else:
                self.conversation.narrate(part.text)
                yield self._passage(part, "", "none")

    def _divide(self, line: str) -> None:
        heading = short_heading(line)
        depth = level(heading)
        self.headings = {at: text for at, text in self.headings.items() if at < depth} | {depth: heading}
        self.scene += 1
        self.conversation.end()

    def _passage(self, part: _ParagraphPart, speaker: str, certainty: Certainty) -> ScriptPassage:
        return ScriptPassage(
            text=part.text,
            place=", ".join([*self.headings.values(), f"line {part.line}"]),
            scene=max(self.scene, 0),
            speaker=speaker,
            speech=part.speech,
            certainty=certainty,
        )


def _fill_backwards(passages: Sequence[ScriptPassage]) -> list[ScriptPassage]:
    """Set unknown speakers at the beginning of a conversation from the later alternation of turns."""
    done = list(passages)
    for at in range(len(done) - 3, -1, -1):
        here, between, after = done[at : at + 3]
        if (
            here.speech
            and not here.speaker
            and here.scene == after.scene
            and between.speech
            and after.speaker not in ("", between.speaker)
        ):
            done[at] = replace(here, speaker=after.speaker, certainty="turn")
    return done


def _title(parts: Sequence[_ParagraphPart]) -> str:
    for part in parts[:30]:
        if found := re.match(r"Title:\s*(\S.*?)(?:\s+Author:|$)", part.text):
            return found[1]
    first = parts[0].text if parts else ""
    return first if len(first) < 80 and not is_heading(first) else ""

"""Attribute the speeches of a novel's conversation to speakers, from the narration around them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from rolellm_agents.scripts.people import Gender, People
from rolellm_agents.scripts.script import Certainty
from rolellm_agents.scripts.tags import Tag, find_tag, find_vocative
from rolellm_agents.text.language import Language

_FAR = 2
"""Paragraphs without speech that end a conversation."""
_SHORT = 120
"""Most characters of a paragraph that only reports an answer."""
_LONG = 800
"""Characters of a paragraph without speech that ends a conversation."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_NEAR = 8
"""The most recently named persons that a pronoun may refer to."""


@dataclass
class NovelConversation:
    """Attributes speeches paragraph by paragraph, and tracks who has spoken and who was named."""

    people: People
    language: Language
    turns: list[str] = field(default_factory=list)
    """The speakers in order; empty for an unknown one."""
    named: list[str] = field(default_factory=list)
    """Persons that the narration named, newest last."""
    subject: str = ""
    """The subject of the last narration."""
    addressed: str = ""
    """The person whom the last speaker addressed by name."""
    announced: Tag | None = None
    """The next speaker, if the narration ended with words like “and she said:”."""
    silence: int = 0
    """Number of paragraphs since the last speech."""
    open_speaker: str = ""
    """The speaker of a quotation that continues in the next paragraph."""

    def __post_init__(self) -> None:
        self._mentions = self.people.mentions()

    def end(self) -> None:
        """End the conversation, as at the end of a chapter."""
        self.turns, self.addressed, self.open_speaker, self.silence = [], "", "", 0
        self.announced = None

    def narrate(self, text: str) -> None:
        """Process a paragraph without speech."""
        self.silence += 1
        subject = self._subject_of(text)
        if self.silence >= _FAR or len(text) > _LONG:
            self.end()
        elif self.turns and len(text) < _SHORT and subject:
            # “Mr. Bennet replied that he had not.”
            self.turns.append(subject)
        self._collect_names(text)
        self.subject = subject
        self.announced = self._announced(text)

    def attribute(self, narration: str, speech: str, *, is_open: bool) -> tuple[str, Certainty]:
        """Process a paragraph with speech, and return its speaker.

        Args:
            narration: the paragraph with a bar in place of each quotation.
            speech: the words of the quotations.
            is_open: whether the last quotation continues in the next paragraph.
        """
        calls = find_vocative(speech, self.people)
        speaker, certainty = self._speaker(narration, calls)
        self.open_speaker = speaker if is_open else ""
        self.turns.append(speaker)
        self.addressed = calls if calls != speaker else ""
        self.silence = 0
        self._collect_names(narration)
        self.subject = ""
        after = narration.rsplit("|", 1)[-1].strip()
        # A single sentence there, such as “I asked.”, is the tag of the speech before it.
        announces = after.endswith(":") or len(_SENTENCE_END.split(after)) > 1
        self.announced = self._announced(after) if announces else None
        return speaker, certainty

    def _speaker(self, narration: str, calls: str) -> tuple[str, Certainty]:
        if self.open_speaker:
            return self.open_speaker, "turn"
        tag = find_tag(narration, self.language, self.people) or self.announced
        before = self._subject_of(_SENTENCE_END.split(narration.split("|", 1)[0].strip())[-1])
        if tag is None:
            speaker = before or self._whose_turn(calls)
            return speaker, "turn" if speaker else "none"
        if tag.name:
            return tag.name, "named"
        if tag.is_narrator and self.people.narrator:
            return self.people.narrator, "named"
        if tag.kin and (relative := self._relative(tag.kin, calls)):
            return relative, "pronoun"
        if tag.gender:
            first = self._subject_of(narration.split("|", 1)[0])
            speaker = self._antecedent(tag, tag.gender, calls, before or first)
            return speaker, "pronoun" if speaker else "none"
        turn = self._whose_turn(calls)
        return turn, "turn" if turn else "none"

    def _relative(self, kin: str, calls: str) -> str:
        """The wife, husband, mother or father of a person who is addressed, has spoken or was named."""
        near = (calls, self.addressed, *reversed(self.turns), self.subject, *reversed(self.named[-_NEAR:]))
        found = (self.people.relative(name, kin) for name in near if name)
        return next((name for name in found if name not in ("", calls)), "")

    def _antecedent(self, tag: Tag, gender: Gender, calls: str, before: str) -> str:
        """The person that the pronoun of “he said” refers to."""
        last = self.turns[-1] if self.turns else ""

        def candidates() -> Iterator[str]:
            if tag.goes_on:
                yield last
            yield before
            if self.silence or not self.turns:
                yield self.subject
            yield self.addressed
            yield from (name for name in reversed(self.turns) if name != last or self.silence)
            yield from (name for name in reversed(self.named[-_NEAR:]) if name != last)
            yield last

        fitting = (name for name in candidates() if name and self.people.gender.get(name) == gender)
        return next((name for name in fitting if name != calls), "")

    def _whose_turn(self, calls: str) -> str:
        """The next speaker when two speak by turns: the one who did not speak last."""
        known = [(back, name) for back, name in enumerate(reversed(self.turns), 1) if name]
        if self.silence and self.subject not in ("", calls):
            return self.subject
        if not known:
            return self.addressed
        back, last = known[0]
        if back % 2 == 0 and last != calls:
            return last
        others = (self.addressed, *(name for _, name in known))
        return next((name for name in others if name not in ("", last, calls)), "")

    def _announced(self, text: str) -> Tag | None:
        """The next speaker, if a paragraph ends by announcing one."""
        ending = _SENTENCE_END.split(text.strip())[-1]
        tag = find_tag(f"{ending.rstrip(' .:,')}: |", self.language, self.people)
        if tag is None and ending.endswith(":"):
            subject = self._subject_of(ending)
            return Tag(name=subject) if subject else None
        return tag

    def _subject_of(self, text: str) -> str:
        """The person with whose name a text begins; empty when it does not begin with a name."""
        found = self._mentions.match(text)
        return self.people.find(found.group()) if found else ""

    def _collect_names(self, narration: str) -> None:
        self.named += [self.people.find(found.group()) for found in self._mentions.finditer(narration)]
        del self.named[: -4 * _NEAR]

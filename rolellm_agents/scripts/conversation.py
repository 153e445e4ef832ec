"""A conversation in a novel: from what is told beside and between the speeches to who speaks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from rolellm_agents.scripts.people import Gender, People
from rolellm_agents.scripts.script import Certainty
from rolellm_agents.scripts.tags import Tag, find_tag, find_vocative
from rolellm_agents.text.language import Language

_FAR = 2
"""After so many paragraphs without a word a conversation is over."""
_SHORT = 120
"""Characters of a paragraph that does no more than tell of an answer."""
_LONG = 800
"""Characters of a paragraph after which nobody remembers whose turn it was."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_NEAR = 8
"""Persons named last among whom a pronoun is looked for."""


@dataclass
class NovelConversation:
    """Hears a novel paragraph by paragraph, and knows who has spoken and who was named."""

    people: People
    language: Language
    turns: list[str] = field(default_factory=list)
    """Who has spoken, in order; empty for one who is not known."""
    named: list[str] = field(default_factory=list)
    """Whom the narration named, newest last."""
    subject: str = ""
    """Whom the latest narration is about."""
    addressed: str = ""
    """Whom the last speaker called by name."""
    announced: Tag | None = None
    """Who is about to speak: the narration ended with “and she said:”."""
    silence: int = 0
    """Paragraphs since somebody spoke."""
    open_speaker: str = ""
    """Who goes on in the next paragraph, since the quotation was not closed."""

    def __post_init__(self) -> None:
        self._mentions = self.people.mentions()

    def end(self) -> None:
        """Everybody has left, as at the end of a chapter."""
        self.turns, self.addressed, self.open_speaker, self.silence = [], "", "", 0
        self.announced = None

    def narrate(self, text: str) -> None:
        """Hear a paragraph in which nobody speaks."""
        self.silence += 1
        subject = self._subject_of(text)
        if self.silence >= _FAR or len(text) > _LONG:
            self.end()
        elif self.turns and len(text) < _SHORT and subject:
            # “Mr. Bennet replied that he had not.”
            self.turns.append(subject)
        self._hear_names(text)
        self.subject = subject
        self.announced = self._announced(text)

    def hear(self, told: str, speech: str, *, is_open: bool) -> tuple[str, Certainty]:
        """Hear a paragraph with speech, and say whose it is.

        Args:
            told: the paragraph with a bar for each quotation.
            speech: what is said in it.
            is_open: the quotation goes on in the next paragraph.
        """
        calls = find_vocative(speech, self.people)
        speaker, certainty = self._speaker(told, calls)
        self.open_speaker = speaker if is_open else ""
        self.turns.append(speaker)
        self.addressed = calls if calls != speaker else ""
        self.silence = 0
        self._hear_names(told)
        self.subject = ""
        self.announced = self._announced(told.rsplit("|", 1)[-1])
        return speaker, certainty

    def _speaker(self, told: str, calls: str) -> tuple[str, Certainty]:
        if self.open_speaker:
            return self.open_speaker, "turn"
        tag = find_tag(told, self.language, self.people) or self.announced
        before = self._subject_of(_SENTENCE_END.split(told.split("|", 1)[0].strip())[-1])
        if tag is None:
            speaker = before or self._whose_turn(calls)
            return speaker, "turn" if speaker else "none"
        if tag.name:
            return tag.name, "named"
        if tag.kin and (relative := self._relative(tag.kin, calls)):
            return relative, "pronoun"
        if tag.gender:
            begun = self._subject_of(told.split("|", 1)[0])
            speaker = self._meant(tag, tag.gender, calls, before or begun)
            return speaker, "pronoun" if speaker else "none"
        turn = self._whose_turn(calls)
        return turn, "turn" if turn else "none"

    def _relative(self, kin: str, calls: str) -> str:
        """The wife, husband, mother or father of whom is spoken to, spoke, or was named."""
        near = (calls, self.addressed, *reversed(self.turns), self.subject, *reversed(self.named[-_NEAR:]))
        found = (self.people.relative(name, kin) for name in near if name)
        return next((name for name in found if name not in ("", calls)), "")

    def _meant(self, tag: Tag, gender: Gender, calls: str, before: str) -> str:
        """Who “he said” means."""
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
        """When two speak by turns: the one who did not speak last."""
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
        """Who is about to speak, if a paragraph ends with words that say so."""
        ending = _SENTENCE_END.split(text.strip())[-1]
        tag = find_tag(f"{ending.rstrip(' .:,')}: |", self.language, self.people)
        if tag is None and ending.endswith(":"):
            subject = self._subject_of(ending)
            return Tag(name=subject) if subject else None
        return tag

    def _subject_of(self, text: str) -> str:
        """Who stands first in a text, if it begins with a name."""
        found = self._mentions.match(text)
        return self.people.who(found.group()) if found else ""

    def _hear_names(self, told: str) -> None:
        self.named += [self.people.who(found.group()) for found in self._mentions.finditer(told)]
        del self.named[: -4 * _NEAR]

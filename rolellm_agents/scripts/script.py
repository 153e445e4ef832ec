"""A script: a list of passages with speakers, addressees and places in the source."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from rolellm_agents.text.language import Language

Kind = Literal["tagged play", "play", "subtitles", "novel"]
Certainty = Literal["named", "pronoun", "turn", "none"]
"""How the speaker is known: from a name in the source, from a pronoun, or from the alternation of turns."""


@dataclass(frozen=True)
class ScriptPassage:
    """A speech, or the text between speeches."""

    text: str
    """The source's text with folded white space; in a novel, including the narration of the paragraph."""
    place: str
    """The place in the source: act, scene or chapter, and line or time."""
    scene: int
    """The number of the scene, the chapter or the part of a film, from 0."""
    speaker: str = ""
    """The speaker's name in the source; empty without a speech, or for an unknown speaker."""
    speech: str = ""
    """The spoken words, without stage directions."""
    to: str = ""
    """The addressee, if known: the last other speaker of the scene, or the next one."""
    certainty: Certainty = "none"


@dataclass(frozen=True)
class Script:
    """A text with its passages."""

    title: str
    kind: Kind
    language: Language
    passages: tuple[ScriptPassage, ...]
    cast: Mapping[str, str] = field(default_factory=dict)
    """The descriptions in the source's list of persons, by name."""

    def speakers(self) -> Counter[str]:
        """The number of speeches of each speaker."""
        return Counter(passage.speaker for passage in self.passages if passage.speaker)


_SOON = 3
"""The most passages between a speech and its answer."""


def add_addressees(passages: Sequence[ScriptPassage]) -> Iterator[ScriptPassage]:
    """Set the addressee of each speech: the last other speaker of the scene, or else the next one."""
    before, scene = "", -1
    for at, passage in enumerate(passages):
        if passage.scene != scene:
            before, scene = "", passage.scene
        if not passage.speaker:
            yield passage
            continue
        following = (
            other.speaker
            for other in passages[at + 1 : at + 1 + _SOON]
            if other.scene == scene and other.speaker not in ("", passage.speaker)
        )
        to = before if before not in ("", passage.speaker) else next(following, "")
        yield replace(passage, to=to)
        before = passage.speaker

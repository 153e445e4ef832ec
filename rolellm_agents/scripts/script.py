"""A script: a text in which people speak, as a list of passages that know their place in the source."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rolellm_agents.text.language import Language

Kind = Literal["tagged play", "play", "subtitles", "novel"]
Certainty = Literal["named", "pronoun", "turn", "none"]
"""How a speaker is known: the source names them, a pronoun stands for them, or it was their turn."""


@dataclass(frozen=True)
class ScriptPassage:
    """A speech, or what stands between speeches."""

    text: str
    """As it stands in the source, white space folded; in a novel with the words around the speech."""
    place: str
    """Where in the source: act, scene or chapter, and line or time."""
    scene: int
    """The number of the act's scene, the chapter or the stretch of film, from 0."""
    speaker: str = ""
    """Who speaks, as the source names them; empty when nobody does, or when it is not known who."""
    speech: str = ""
    """What is said, without stage directions; empty when nobody speaks."""
    to: str = ""
    """To whom, as far as it is known: the one who spoke last in the same scene, or who answers."""
    certainty: Certainty = "none"


@dataclass(frozen=True)
class Script:
    """A text as it was read."""

    title: str
    kind: Kind
    language: Language
    passages: tuple[ScriptPassage, ...]
    cast: Mapping[str, str] = field(default_factory=dict)
    """Who somebody is, where the source lists its persons."""

    def speakers(self) -> Counter[str]:
        """How often each speaker speaks."""
        return Counter(passage.speaker for passage in self.passages if passage.speaker)

"""Whether a character's catchphrases are worn out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rolellm_agents.metrics.words import word_count
from rolellm_agents.persona import Persona
from rolellm_agents.text.language import Language
from rolellm_agents.text.phrases import times_heard

_MANY = 3
"""So many in one short reply are no habit of speech any more but a display of it."""
_APART: Final[Mapping[Language, int]] = {"en": 20, "zh": 40}
"""Words, or Chinese characters, that a reply has for each. The bundled cast's own lines keep to that."""
_OFTEN = 0.5
"""A phrase in more of the replies than this says nothing any more."""
_FEWEST = 4
"""Of fewer replies nobody can tell what is often."""


@dataclass(frozen=True)
class CatchphraseUse:
    """How often a character's catchphrases stand in its replies."""

    replies: int
    share: float
    """Of the replies that hold one or several; 0 without replies."""
    shares: Mapping[str, float]
    """Of the replies that hold each phrase."""

    def overused(self, often: float = _OFTEN) -> list[str]:
        """The phrases that stand in more than this share of the replies; none for fewer than four."""
        if self.replies < _FEWEST:
            return []
        return [phrase for phrase, share in self.shares.items() if share > often]


def catchphrase_use(replies: Sequence[str], persona: Persona) -> CatchphraseUse:
    """Count a persona's catchphrases in its replies."""
    held = [_heard(reply, persona) for reply in replies]
    count = len(held) or 1
    return CatchphraseUse(
        len(held),
        sum(map(bool, held)) / count,
        {phrase: sum(phrase in heard for heard in held) / count for phrase in persona.catchphrases},
    )


def piles_up_catchphrases(reply: str, persona: Persona) -> bool:
    """Whether one reply says catchphrases three times or more, the same or several, with little between."""
    times = sum(_heard(reply, persona).values())
    return times >= _MANY and times * _APART[persona.language] > word_count(reply, persona.language)


def _heard(reply: str, persona: Persona) -> dict[str, int]:
    times = {phrase: times_heard(phrase, reply, persona.language) for phrase in persona.catchphrases}
    return {phrase: number for phrase, number in times.items() if number}

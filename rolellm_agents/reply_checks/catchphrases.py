"""Detect overuse of a character's catchphrases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rolellm_agents.metrics.words import word_count
from rolellm_agents.persona import Persona
from rolellm_agents.text.language import Language
from rolellm_agents.text.phrases import times_heard

_MANY = 3
"""Number of catchphrases in a short reply from which they count as overused."""
_APART: Final[Mapping[Language, int]] = {"en": 20, "zh": 40}
"""Minimum words, or Chinese characters, per catchphrase. The lines of the bundled cast satisfy this."""
_OFTEN = 0.5
"""The share of replies above which a phrase counts as overused."""
_FEWEST = 4
"""Minimum number of replies; with fewer, the shares mean little."""


@dataclass(frozen=True)
class CatchphraseUse:
    """How often a character uses its catchphrases."""

    replies: int
    share: float
    """Share of replies that contain at least one catchphrase; 0 without replies."""
    shares: Mapping[str, float]
    """Share of replies that contain each phrase."""

    def overused(self, often: float = _OFTEN) -> list[str]:
        """The phrases in more than this share of the replies; none for fewer than four replies."""
        if self.replies < _FEWEST:
            return []
        return [phrase for phrase, share in self.shares.items() if share > often]


def catchphrase_use(replies: Sequence[str], persona: Persona) -> CatchphraseUse:
    """Count a persona's catchphrases in its replies."""
    counts = [_counts(reply, persona) for reply in replies]
    total = len(counts) or 1
    return CatchphraseUse(
        len(counts),
        sum(map(bool, counts)) / total,
        {phrase: sum(phrase in found for found in counts) / total for phrase in persona.catchphrases},
    )


def piles_up_catchphrases(reply: str, persona: Persona) -> bool:
    """Whether one reply contains three or more catchphrases, equal or different, close together."""
    times = sum(_counts(reply, persona).values())
    return times >= _MANY and times * _APART[persona.language] > word_count(reply, persona.language)


def _counts(reply: str, persona: Persona) -> dict[str, int]:
    times = {phrase: times_heard(phrase, reply, persona.language) for phrase in persona.catchphrases}
    return {phrase: number for phrase, number in times.items() if number}

"""Speaker identification: sampling of speakers and candidates, and the identification rate."""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rolellm_agents.judging.likelihood import speaker_scores
from rolellm_agents.metrics import Interval, mean_interval

_CAPITALIZED = re.compile(r"(?<![\w'’-])[A-Z][\w'’-]+")
_STAND_IN = "…"


@dataclass(frozen=True, kw_only=True)
class Speaker:
    """A persona whose replies are to be identified among candidates."""

    id: str
    replies: tuple[str, ...]
    """Keys of the speaker's replies."""
    others: tuple[str, ...]
    """All other personas in random order; the first of them are the candidates beside the speaker."""

    def candidates(self, count: int) -> tuple[str, ...]:
        """The speaker and others, `count` in total, or fewer when the cast is smaller."""
        return (self.id, *self.others[: count - 1])


def sample_speakers(
    replies: Mapping[str, Sequence[str]], cast: Sequence[str], *, most: int | None, seed: int
) -> list[Speaker]:
    """Sample speakers, and for each the order of the other candidates.

    `replies` has the keys of the replies by persona. Only personas of the cast are sampled, at most `most`
    of them; all when None.
    """
    draw = random.Random(seed)  # noqa: S311 (a sample, no secret)
    known = sorted(name for name in replies if name in set(cast))
    sampled = sorted(draw.sample(known, len(known) if most is None else min(most, len(known))))
    speakers = []
    for name in sampled:
        others = sorted(one for one in cast if one != name)
        draw.shuffle(others)
        speakers.append(Speaker(id=name, replies=tuple(replies[name]), others=tuple(others)))
    return speakers


def identification_rate(
    speakers: Sequence[Speaker],
    evidence: Mapping[str, Mapping[str, float]],
    background: Mapping[str, Sequence[float]],
    *,
    candidates: int,
    pooled: int,
) -> Interval | None:
    """How often the speaker scores highest among the candidates, with an interval clustered by speaker.

    Args:
        speakers: the speakers to identify.
        evidence: for each candidate and each reply's key, the evidence for the candidate.
        background: for each candidate, the evidence of background replies, which is subtracted; may be
            empty.
        candidates: number of candidates, the speaker included.
        pooled: number of replies that are scored together; a speaker's remaining replies are not used.

    Returns:
        None when no speaker has that many replies.
    """
    right, clusters = [], []
    for speaker in speakers:
        among = speaker.candidates(candidates)
        for begin in range(0, len(speaker.replies) - pooled + 1, pooled):
            some = speaker.replies[begin : begin + pooled]
            found = speaker_scores(
                {name: [evidence[name][key] for key in some] for name in among}, background
            )
            right.append(_share_of_the_highest(found, speaker.id))
            clusters.append(speaker.id)
    return mean_interval(right, clusters) if right else None


def _share_of_the_highest(scores: Mapping[str, float], name: str) -> float:
    """1 when only `name` scores highest, 1/n when it ties with n - 1 others, else 0."""
    highest = max(scores.values())
    best = [one for one, score in scores.items() if score == highest]
    return 1 / len(best) if name in best else 0.0


def without_name(text: str, name: str) -> str:
    """Replace a name, and each capitalized word of it, by an ellipsis.

    Args:
        text: a text in any language.
        name: the name, with its title: every “Coach”, “Taylor” and “Coach Taylor” is replaced.
    """
    words = [
        rf"(?<!\w){re.escape(word)}(?!\w)"
        for word in sorted(_CAPITALIZED.findall(name), key=len, reverse=True)
    ]
    whole = rf"(?<![A-Za-z]){re.escape(name)}(?![A-Za-z])"
    without = re.sub("|".join([f"(?i:{whole})", *words]), _STAND_IN, text)
    return re.sub(rf"{_STAND_IN}(?:[\s.]*{_STAND_IN})+", _STAND_IN, without).strip()

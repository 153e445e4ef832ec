"""Who is asked to be told among whom, and how often it is told right."""

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
    """Somebody whose replies are given to others, too."""

    id: str
    replies: tuple[str, ...]
    """Keys of the replies."""
    others: tuple[str, ...]
    """Everybody else in an order of chance: the first ones are the candidates beside the speaker."""

    def candidates(self, count: int) -> tuple[str, ...]:
        """The speaker and others, so many in all, or as many as there are."""
        return (self.id, *self.others[: count - 1])


def sample_speakers(
    replies: Mapping[str, Sequence[str]], cast: Sequence[str], *, most: int | None, seed: int
) -> list[Speaker]:
    """Draw who is to be told, and among whom.

    Args:
        replies: keys of each one's replies.
        cast: everybody who may be a candidate; who is not among them is not drawn.
        most: how many are drawn; all when None.
        seed: seed of the random choices.
    """
    draw = random.Random(seed)  # noqa: S311 (a sample, no secret)
    known = sorted(name for name in replies if name in set(cast))
    drawn = sorted(draw.sample(known, len(known) if most is None else min(most, len(known))))
    speakers = []
    for name in drawn:
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
    """How often the speaker comes out highest among the candidates, with an interval clustered by speaker.

    Args:
        speakers: whose replies are judged.
        evidence: for each candidate and each reply's key how much it speaks for the candidate.
        background: for each candidate that of replies by anybody, to be taken off; may be empty.
        candidates: among how many.
        pooled: from how many replies at a time; what is left over of a speaker's is not used.

    Returns:
        None when nobody has so many replies.
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
    """1 for the highest alone, a part of it for one of several."""
    highest = max(scores.values())
    best = [one for one, score in scores.items() if score == highest]
    return 1 / len(best) if name in best else 0.0


def without_name(text: str, name: str) -> str:
    """The text with the name, and each capitalized word of it, replaced by an ellipsis.

    Args:
        text: in any language.
        name: a title in it goes, too: “Coach Taylor” becomes an ellipsis wherever it stands.
    """
    words = [
        rf"(?<!\w){re.escape(word)}(?!\w)"
        for word in sorted(_CAPITALIZED.findall(name), key=len, reverse=True)
    ]
    whole = rf"(?<![A-Za-z]){re.escape(name)}(?![A-Za-z])"
    without = re.sub("|".join([f"(?i:{whole})", *words]), _STAND_IN, text)
    return re.sub(rf"{_STAND_IN}(?:[\s.]*{_STAND_IN})+", _STAND_IN, without).strip()

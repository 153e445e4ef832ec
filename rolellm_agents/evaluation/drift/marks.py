"""Marks: what is measured of each answer of an interview without a judge."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.metrics import ReferencedReply, score_many, word_count
from rolellm_agents.metrics.words import words_and_characters
from rolellm_agents.persona import Persona
from rolellm_agents.reply_checks.detections import DETECTIONS, detect, is_in_role
from rolellm_agents.text import plain

MARKS: Final[Mapping[str, str]] = {
    "style_distance": "distance of style from the first answer",
    "repeats_earlier": "overlap with an earlier answer",
    "remembers": "what the visitor said is remembered",
    "same_as_before": "overlap with the answer to the same question",
    "in_role": "share in role",
    "words": "words",
}
"""The marks and their names in reports."""
_RUN: Final = 3
"""Characters of an n-gram: short enough that small words, endings and punctuation weigh most."""


@dataclass(frozen=True, kw_only=True)
class AnsweredQuestion:
    """A question of an interview with its answer."""

    id: str
    question: str
    reply: str
    rotates: bool = False
    expects: tuple[str, ...] = ()
    repeats: str | None = None
    verdicts: Mapping[str, float] = field(default_factory=dict)
    """The values of judges' verdicts, by measure; verdicts without a value are omitted."""


def marks_of(answers: Sequence[AnsweredQuestion], persona: Persona) -> list[dict[str, float]]:
    """The marks of each answer; marks that do not apply to a turn are omitted.

    Detections are 1 or 0. `style_distance` is 1 minus the cosine similarity of the counts of character
    trigrams: 0 for the same text and 1 for no trigram in common. `repeats_earlier` is the highest ROUGE-L
    F1 with any earlier answer of the interview.

    The answers are those of one interview, in order.
    """
    return [{**_marks(answers, turn, persona), **one.verdicts} for turn, one in enumerate(answers)]


def _marks(answers: Sequence[AnsweredQuestion], turn: int, persona: Persona) -> dict[str, float]:
    one, before = answers[turn], answers[:turn]
    found = detect(one.reply, persona, one.question, user=DEFAULT_USER)
    marks = {
        "words": float(word_count(one.reply, persona.language)),
        "in_role": float(is_in_role(found)),
        **{name.replace("-", "_"): float(name in found) for name in DETECTIONS},
    }
    if not one.reply.strip():
        return marks
    said = [earlier.reply for earlier in before if earlier.reply.strip()]
    if said:
        marks["repeats_earlier"] = _overlap(one.reply, said, persona)
    if before and before[0].reply.strip():
        marks["style_distance"] = 1 - _cosine(_runs(one.reply), _runs(before[0].reply))
    if one.expects:
        reply = plain(one.reply).casefold()
        marks["remembers"] = sum(words.casefold() in reply for words in one.expects) / len(one.expects)
    again = [earlier.reply for earlier in before if earlier.id == one.repeats and earlier.reply.strip()]
    if one.repeats and again:
        marks["same_as_before"] = _overlap(one.reply, again, persona)
    return marks


def _overlap(reply: str, others: Sequence[str], persona: Persona) -> float:
    """The highest ROUGE-L F1 with one of the others."""
    answer = ReferencedReply(reply, tuple(others), persona.language)
    return score_many([answer], ["rouge-l-f1"])["rouge-l-f1"][0]


def _runs(text: str) -> Counter[str]:
    """Counts of character trigrams; bigrams for Chinese, whose characters carry more information."""
    folded = " ".join(plain(text).casefold().split())
    chinese = [word for word in words_and_characters(folded) if ord(word[0]) > 0x2E7F]
    size = 2 if 2 * len(chinese) > len(folded.split()) and len(chinese) > 1 else _RUN
    padded = f" {folded} "
    return Counter(padded[at : at + size] for at in range(len(padded) - size + 1))


def _cosine(one: Counter[str], other: Counter[str]) -> float:
    if one == other:
        return 1.0
    across = sum(times * other[run] for run, times in one.items())
    lengths = math.sqrt(sum(n * n for n in one.values())) * math.sqrt(sum(n * n for n in other.values()))
    return min(1.0, across / lengths) if lengths else 0.0

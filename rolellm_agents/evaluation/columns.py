"""The columns of the result table: all measures of replies.

Scores have intervals and differences between systems, and are repeated for new questions alone. Marks have
means only. Pooled figures are computed over all replies of a row together.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.datasets.sample import Sample
from rolellm_agents.metrics import ReferencedReply, distinct_n, score_many, word_count
from rolellm_agents.persona import Persona
from rolellm_agents.reply_checks.detections import DETECTIONS, detect, is_in_role


class AnsweredSample(NamedTuple):
    """A reply with its persona and the sample that it answers."""

    reply: str
    persona: Persona
    sample: Sample


MAIN: Final = "rouge_l_f1"
"""The main score."""
PAPER: Final = "paper"
"""The score of the paper's tables."""

SCORES: Final[Mapping[str, str]] = {
    MAIN: "rouge-l-f1",
    PAPER: "paper",
    "rouge_1_f1": "rouge-1-f1",
    "rouge_2_f1": "rouge-2-f1",
}
"""The measure of each column; of several references the best counts."""

_DETECTED: Final = {name: name.replace("-", "_") for name in DETECTIONS} | {"repetitive": "loops"}
"""The column of each detection, which holds the share of replies."""
MARKS: Final = ("words", "in_role", *_DETECTED.values())
"""Columns that are computed from each reply without its references."""

POOLED: Final[Mapping[str, Callable[[Sequence[str]], float]]] = {
    "distinct_2": lambda replies: distinct_n(replies, 2),
}

COSTS: Final = ("prompt_tokens", "new_tokens", "reply_tokens", "cut", "seconds")
"""The cost of a reply, as the run recorded it; unknown for published replies.

`new_tokens` are the tokens of the prompt that were not cached. `cut` says whether the reply reached the
maximum length. `seconds` pass from the question to the reply, while other questions are answered too.
"""


def scores_of(answered: AnsweredSample) -> dict[str, float]:
    """Each of `SCORES`; 0 for an empty reply."""
    answer = ReferencedReply(answered.reply, answered.sample.references, answered.sample.language)
    scores = score_many([answer], [*SCORES.values()])
    return {column: scores[measure][0] for column, measure in SCORES.items()}


def marks_of(answered: AnsweredSample) -> dict[str, float]:
    """Each of `MARKS`; detections are 1 or 0."""
    found = detect(answered.reply, answered.persona, answered.sample.question, user=DEFAULT_USER)
    return {
        "words": float(word_count(answered.reply, answered.sample.language)),
        "in_role": float(is_in_role(found)),
        **{column: float(name in found) for name, column in _DETECTED.items()},
    }

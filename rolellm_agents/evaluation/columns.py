"""What is measured of replies: the one place that lists it.

Scores have intervals, differences between systems, and are told again for new questions alone; marks are
means only; pooled figures are of all replies of a row together. A row has a column for each name here.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.datasets.sample import Sample
from rolellm_agents.metrics import ReferencedReply, distinct_n, score_many, word_count
from rolellm_agents.persona import Persona
from rolellm_agents.reply_checks.detections import DETECTIONS, detect, is_in_role


class Said(NamedTuple):
    """One reply, whose it should be, and what it answers."""

    reply: str
    persona: Persona
    sample: Sample


MAIN: Final = "rouge_l_f1"
"""The score that the others stand behind."""
PAPER: Final = "paper"
"""The score that the published tables hold."""

SCORES: Final[Mapping[str, str]] = {
    MAIN: "rouge-l-f1",
    PAPER: "paper",
    "rouge_1_f1": "rouge-1-f1",
    "rouge_2_f1": "rouge-2-f1",
}
"""From a column to the measure that it holds; of several references the best counts."""

_DETECTED: Final = {name: name.replace("-", "_") for name in DETECTIONS} | {"repetitive": "loops"}
"""From what is detected to its column, which holds the share of replies."""
MARKS: Final = ("words", "in_role", *_DETECTED.values())
"""What each reply has by itself."""

POOLED: Final[Mapping[str, Callable[[Sequence[str]], float]]] = {
    "distinct_2": lambda replies: distinct_n(replies, 2),
}

COSTS: Final = ("prompt_tokens", "new_tokens", "reply_tokens", "cut", "seconds")
"""What making a reply took, as the run has it; of published replies nobody knows.

`new_tokens` are those of the prompt that had not been read before, `cut` says whether the longest allowed
answer ended it, and `seconds` pass from the question to the reply, others answered beside it.
"""


def scores_of(said: Said) -> dict[str, float]:
    """Each score of a reply; an empty one has none of what its references have."""
    answer = ReferencedReply(said.reply, said.sample.references, said.sample.language)
    scores = score_many([answer], [*SCORES.values()])
    return {column: scores[measure][0] for column, measure in SCORES.items()}


def marks_of(said: Said) -> dict[str, float]:
    """Each of `MARKS`; shares are 1 or 0."""
    found = detect(said.reply, said.persona, said.sample.question, user=DEFAULT_USER)
    return {
        "words": float(word_count(said.reply, said.sample.language)),
        "in_role": float(is_in_role(found)),
        **{column: float(name in found) for name, column in _DETECTED.items()},
    }

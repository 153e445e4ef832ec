"""Answers of other programs, as systems of an evaluation."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rolellm_agents.datasets.keys import question_key, role_key
from rolellm_agents.datasets.predictions import REPLY_KEYS, Key, read_texts
from rolellm_agents.datasets.sample import Sample
from rolellm_agents.errors import RoleBenchError
from rolellm_agents.evaluation.scored import System

PREDICTIONS: Final = "predictions"
"""What tables show in place of a strategy."""


@dataclass(frozen=True)
class PredictionFile:
    """A file of answers, and the name of the system that gave them."""

    name: str
    path: Path

    @property
    def system(self) -> System:
        """The system in tables."""
        return System(self.name, PREDICTIONS)


def predicted_replies(file: PredictionFile, asked: Sequence[Sample]) -> list[str | None]:
    """The answer to each question, by role and question; None where the file has none.

    A question that occurs twice gets two different answers if the file has two.

    Raises:
        RoleBenchError: the file cannot be read, a row has no role or question, or no row has an answer to
            any question.
    """
    texts = read_texts(file.path, REPLY_KEYS)
    answers: dict[Key, list[str]] = defaultdict(list)
    for row in texts.rows:
        if row.key is None:
            raise RoleBenchError(
                f"{texts.describe(row).capitalize()} has no role or no question; predictions are matched "
                "by both, so give each row a “role” and a “question”."
            )
        answers[row.key].append(row.texts[0].strip() if row.texts else "")
    times: Counter[Key] = Counter()
    replies: list[str | None] = []
    for sample in asked:
        key = role_key(sample.role), question_key(sample.question)
        known = answers.get(key, [])
        replies.append(known[min(times[key], len(known) - 1)] if known else None)
        times[key] += 1
    if not any(reply is not None for reply in replies):
        raise RoleBenchError(
            f"No row of {file.path} answers a question of this test; name answers to the same data, split, "
            "kind and language."
        )
    return replies

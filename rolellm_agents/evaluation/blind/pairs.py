"""Pairs of answers in an order that does not reveal which system gave which answer."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from rolellm_agents.corpus.splits import Split
from rolellm_agents.errors import StorageError
from rolellm_agents.evaluation.blind.questions import OpenQuestion
from rolellm_agents.files.atomic_write import write_atomically
from rolellm_agents.judging import Judged, JudgingError
from rolellm_agents.judging.json_form import judged_from_json, judged_to_json
from rolellm_agents.persona import Persona
from rolellm_agents.runs.seeds import digest_of

_FILE = "pairs.json"


@dataclass(frozen=True)
class Answer:
    """One system's answer in its conversation."""

    system: str
    judged: Judged
    """Its key does not reveal the system."""


@dataclass(frozen=True)
class AnswerPair:
    """Two systems' answers to one question, in the order in which a reader sees them."""

    key: str
    """Unique; it does not reveal the systems."""
    split: Split
    first: Answer
    second: Answer

    @property
    def persona(self) -> Persona:
        """The persona that both answers speak for."""
        return self.first.judged.persona


def blind_pairs(
    questions: Sequence[OpenQuestion], answers: Mapping[str, Mapping[str, str]], *, seed: int = 0
) -> list[AnswerPair]:
    """All pairs of different answers to the same question, shuffled, each in a random order.

    Args:
        questions: in any order.
        answers: for each system, the texts by the questions' keys. Missing answers are left out.
        seed: of the orders.
    """
    pairs = []
    for question in questions:
        given = [
            _answer(system, question, texts[question.key], seed)
            for system, texts in answers.items()
            if question.key in texts
        ]
        for one, other in combinations(given, 2):
            if one.judged.reply == other.judged.reply:
                continue
            first, second = sorted((one, other), key=lambda answer: answer.judged.key)
            key = _opaque(f"{first.judged.key}/{second.judged.key}")
            pairs.append(AnswerPair(key, question.split, first, second))
    return sorted(pairs, key=lambda pair: pair.key)


def write_pairs(folder: Path, pairs: Sequence[AnswerPair]) -> None:
    """Write the pairs of a reading into its folder.

    Raises:
        StorageError: the folder cannot be written.
    """
    content = [
        {
            "key": pair.key,
            "split": pair.split,
            "systems": [pair.first.system, pair.second.system],
            "answers": [judged_to_json(pair.first.judged), judged_to_json(pair.second.judged)],
        }
        for pair in pairs
    ]
    write_atomically(folder / _FILE, json.dumps(content, ensure_ascii=False, indent=1) + "\n", StorageError)


def read_pairs(folder: Path) -> list[AnswerPair]:
    """Read the pairs of a reading.

    Raises:
        JudgingError: the folder has none, or the file is damaged.
    """
    file = folder / _FILE
    try:
        return [_from_json(row) for row in json.loads(file.read_text("utf-8"))]
    except FileNotFoundError:
        raise JudgingError(
            f"{folder} has no pairs to read; “rolellm eval reading prepare --out {folder}” makes them."
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise JudgingError(f"{file} is damaged ({error}); prepare the reading again.") from error


def _answer(system: str, question: OpenQuestion, text: str, seed: int) -> Answer:
    judged = Judged(
        key=_opaque(f"{seed}/{system}/{question.key}"),
        persona=question.persona,
        turns=question.turns,
        reply=text.strip(),
    )
    return Answer(system, judged)


def _opaque(text: str) -> str:
    return digest_of(text)[:10]


def _from_json(row: Mapping[str, Any]) -> AnswerPair:
    first, second = (
        Answer(system, judged_from_json(judged))
        for system, judged in zip(row["systems"], row["answers"], strict=True)
    )
    return AnswerPair(row["key"], row["split"], first, second)

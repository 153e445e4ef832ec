"""RAW: how similar replies to general instructions are to plain answers, without a role's voice."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Final

from rolellm_agents.datasets.keys import question_key
from rolellm_agents.datasets.reading import describe_error, fields_of, numbered_lines
from rolellm_agents.errors import RoleBenchError
from rolellm_agents.evaluation.columns import PAPER, SCORES
from rolellm_agents.evaluation.scored import ScoredReply, System
from rolellm_agents.metrics import ReferencedReply, score_many

_QUESTIONS: Final = ("question", "instruction")
_ANSWERS: Final = ("answer", "generated", "references", "output")


def read_plain_answers(file: Path) -> dict[str, tuple[str, ...]]:
    """The plain answers of a file, by the key of their question.

    Each line is a JSON object with `question` or `instruction` and `answer`, `generated`, `references` or
    `output`, a text or a list of texts.

    Raises:
        RoleBenchError: the file cannot be read, or a line is invalid.
    """
    answers: dict[str, tuple[str, ...]] = {}
    for number, line in numbered_lines(file):
        try:
            fields = fields_of(line)
            question = next(fields[key] for key in _QUESTIONS if isinstance(fields.get(key), str))
            given = next(fields[key] for key in _ANSWERS if fields.get(key))
            texts = (given,) if isinstance(given, str) else tuple(map(str, given))
        except (ValueError, TypeError, RecursionError, StopIteration) as error:
            reason = describe_error(error) if isinstance(error, ValueError) else "no question or no answer"
            raise RoleBenchError(
                f"{file}, line {number}: {reason}; correct the line or remove it."
            ) from error
        key = question_key(question)
        answers[key] = (*answers.get(key, ()), *texts)
    return answers


def raw_scores(scored: Iterable[ScoredReply], plain: Mapping[str, tuple[str, ...]]) -> dict[System, float]:
    """The mean score of each system's replies to general instructions against the plain answers.

    Replies to instructions without a plain answer are ignored.
    """
    known: dict[System, list[ReferencedReply]] = {}
    for one in scored:
        sample = one.answered.sample
        references = plain.get(question_key(sample.question))
        if one.kind == "general" and references:
            reply = ReferencedReply(one.answered.reply, references, sample.language)
            known.setdefault(one.system, []).append(reply)
    measure = SCORES[PAPER]
    return {system: fmean(score_many(replies, [measure])[measure]) for system, replies in known.items()}

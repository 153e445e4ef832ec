"""The results of verifying answers, and the rows that are written of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rolellm_agents.datasets.sample import Sample
from rolellm_agents.generation.samples import PASSAGE, SampleRow
from rolellm_agents.persona import Persona
from rolellm_agents.reply_checks.labels import MARKS, Label
from rolellm_agents.runs.budget import Tokens

LABELS: Final = "labels"
_BOUNDARY: Final = "boundary"


@dataclass(frozen=True, kw_only=True)
class Answered:
    """An answer of a sample."""

    key: str
    """Unique among the answers of a run."""
    persona: Persona
    question: str
    answer: str
    passage: str
    """The lines that it is based on; empty when there are none."""
    is_boundary: bool
    """Whether the character cannot know the answer."""


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """The result of one check of an answer."""

    check: str
    """The check's name, such as `support`."""
    value: float | str | None
    """None when the check's model gave no judgement; the answer is then kept, and counted."""
    label: Label | None = None
    """The fault that was found; None when the answer passes."""
    reason: str = ""
    prompt: str = ""
    tokens: Tokens = field(default_factory=Tokens)
    seconds: float = 0.0


def answers_of(sample: Sample, persona: Persona, key: str) -> list[Answered]:
    """The answers of a sample, each with its own key."""
    passage = sample.extra.get(PASSAGE)
    labels = sample.extra.get(LABELS)
    return [
        Answered(
            key=f"{key}/{number}",
            persona=persona,
            question=sample.question.strip(),
            answer=answer.strip(),
            passage=passage if isinstance(passage, str) else "",
            is_boundary=isinstance(labels, list) and _BOUNDARY in labels,
        )
        for number, answer in enumerate(sample.references)
    ]


def item_of(
    answered: Answered,
    results: Sequence[CheckResult],
    repaired: str | None,
    repairing: Sequence[CheckResult],
) -> dict[str, Any]:
    """The item that a run stores for an answer.

    Args:
        answered: the answer as it was.
        results: the results of its checks.
        repaired: the new answer, if the first one had a fault and the model gave another.
        repairing: the results of the new answer's checks.
    """
    accepted = repaired is not None and not faults_of(repairing)
    decisive = repairing if accepted else results
    labels: list[Label] = ["repaired"] if accepted else faults_of(results)
    if all(one.value is None for one in decisive):
        labels.append("unchecked")
    return {
        "answer": repaired if accepted else answered.answer,
        "original": answered.answer,
        "rejected_repair": repaired if repaired is not None and not accepted else None,
        "labels": labels,
        "checks": [_result_json(one) for one in decisive],
        "found": [_result_json(one) for one in results] if accepted else None,
    }


def faults_of(results: Sequence[CheckResult]) -> list[Label]:
    """The labels of the faults, each once."""
    return list(dict.fromkeys(one.label for one in results if one.label is not None))


def _result_json(one: CheckResult) -> dict[str, Any]:
    return {
        "check": one.check,
        "value": one.value,
        "label": one.label,
        "reason": one.reason,
        "prompt": one.prompt,
    }


def verified_rows(sample: Sample, items: Sequence[Mapping[str, Any] | None]) -> Iterator[SampleRow]:
    """The rows of one sample: one with the answers that passed, and one for each answer with a fault.

    Args:
        sample: the sample as it was.
        items: the items of its answers in order; None is an answer that is still to be verified.
    """
    kept = [item for item in items if item is not None and not _has_fault(item)]
    if kept:
        yield SampleRow("samples", _row(sample, kept))
    for item in items:
        if item is not None and _has_fault(item):
            yield SampleRow("left_out", _row(sample, [item]))


def _has_fault(item: Mapping[str, Any]) -> bool:
    return any(label not in MARKS for label in item[LABELS])


def _row(sample: Sample, items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    earlier = sample.extra.get(LABELS)
    labels = [
        *(earlier if isinstance(earlier, list) else ()),
        *(one for item in items for one in item[LABELS]),
    ]
    checks = [{one["check"]: one["value"] for one in item["checks"]} for item in items]
    row: dict[str, Any] = {
        **sample.extra,
        "role": sample.role,
        "question": sample.question,
        "generated": [item["answer"] for item in items],
        "language": sample.language,
        LABELS: list(dict.fromkeys(labels)),
        "checks": checks,
    }
    return {**row, "type": list(sample.types)} if sample.types else row

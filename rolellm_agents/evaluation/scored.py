"""A reply with its scores, marks, costs and verdicts: a line of `scored.jsonl`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from rolellm_agents.datasets.sample import Kind
from rolellm_agents.evaluation.columns import COSTS, AnsweredSample, marks_of, scores_of
from rolellm_agents.judging import Verdict

PUBLISHED: Final = "RoleGPT (published)"
PUBLISHED_STRATEGY: Final = "rolegpt"

_UNKNOWN_COSTS: Final[Mapping[str, float | None]] = dict.fromkeys(COSTS)


class System(NamedTuple):
    """A model under a strategy."""

    model: str
    strategy: str

    @property
    def is_published(self) -> bool:
        """Whether its replies were published with the data."""
        return self.model == PUBLISHED


BASELINE: Final = System(PUBLISHED, PUBLISHED_STRATEGY)
"""RoleGPT's published answers."""


@dataclass(frozen=True, kw_only=True)
class ScoredReply:
    """A system's reply to one question."""

    system: System
    question: int
    """Number of the question in the test set, the same for all systems."""
    key: str
    """Key of the reply and of its verdicts; duplicate questions share a key."""
    answered: AnsweredSample
    overlap: str
    """Why the question is known from training; empty for a new question."""
    scores: Mapping[str, float]
    marks: Mapping[str, float]
    costs: Mapping[str, float | None]
    verdicts: Mapping[str, Sequence[Verdict]] = field(default_factory=dict)
    """Verdicts by the name of the judge."""

    @property
    def kind(self) -> Kind:
        """The kind of the question."""
        return self.answered.sample.kind

    @property
    def role(self) -> str:
        """The role of the question; intervals are clustered by role."""
        return self.answered.sample.role

    def to_json(self) -> dict[str, Any]:
        """Convert to the JSON values of a line."""
        sample = self.answered.sample
        return {
            "model": self.system.model,
            "strategy": self.system.strategy,
            "kind": self.kind,
            "role": self.role,
            "number": self.question,
            "key": self.key,
            "question": sample.question,
            "reply": self.answered.reply,
            "references": list(sample.references),
            "overlap": self.overlap,
            **{name: round(value, 6) for name, value in self.scores.items()},
            **self.marks,
            **self.costs,
            "verdicts": {
                judge: [_verdict_to_json(verdict) for verdict in verdicts]
                for judge, verdicts in self.verdicts.items()
            },
        }


def scored(
    system: System,
    question: int,
    key: str,
    answered: AnsweredSample,
    *,
    overlap: str = "",
    costs: Mapping[str, float | None] = _UNKNOWN_COSTS,
) -> ScoredReply:
    """Measure a reply."""
    return ScoredReply(
        system=system,
        question=question,
        key=key,
        answered=answered,
        overlap=overlap,
        scores=scores_of(answered),
        marks=marks_of(answered),
        costs=costs,
    )


def _verdict_to_json(verdict: Verdict) -> dict[str, Any]:
    return {
        "measure": verdict.measure,
        "value": verdict.value,
        "status": verdict.status,
        "reason": verdict.reason,
    }

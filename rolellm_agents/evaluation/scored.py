"""A reply with all that was measured of it: a line of `scored.jsonl`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from rolellm_agents.datasets.sample import Kind
from rolellm_agents.evaluation.columns import COSTS, Said, marks_of, scores_of
from rolellm_agents.judging import Verdict

PUBLISHED: Final = "RoleGPT (published)"
PUBLISHED_STRATEGY: Final = "rolegpt"

_UNKNOWN_COSTS: Final[Mapping[str, float | None]] = dict.fromkeys(COSTS)


class System(NamedTuple):
    """Who is compared: a model under a strategy."""

    model: str
    strategy: str

    @property
    def is_published(self) -> bool:
        """Whether its replies came with the data."""
        return self.model == PUBLISHED


BASELINE: Final = System(PUBLISHED, PUBLISHED_STRATEGY)
"""RoleGPT's answers as they were published."""


@dataclass(frozen=True, kw_only=True)
class ScoredReply:
    """A system's reply to one question."""

    system: System
    question: int
    """Its number in the test, the same for all systems."""
    key: str
    """Of the reply, by which it and verdicts on it are kept; the same where a question stands twice."""
    said: Said
    overlap: str
    """Why the question is not new to who was trained on the training rows; empty where it is."""
    scores: Mapping[str, float]
    marks: Mapping[str, float]
    costs: Mapping[str, float | None]
    verdicts: Mapping[str, Sequence[Verdict]] = field(default_factory=dict)
    """By the names of the judges."""

    @property
    def kind(self) -> Kind:
        """Of the question."""
        return self.said.sample.kind

    @property
    def role(self) -> str:
        """Who is asked; what intervals are clustered by."""
        return self.said.sample.role

    def to_json(self) -> dict[str, Any]:
        """The line, as JSON values."""
        sample = self.said.sample
        return {
            "model": self.system.model,
            "strategy": self.system.strategy,
            "kind": self.kind,
            "role": self.role,
            "number": self.question,
            "key": self.key,
            "question": sample.question,
            "reply": self.said.reply,
            "references": list(sample.references),
            "overlap": self.overlap,
            **{name: round(value, 6) for name, value in self.scores.items()},
            **self.marks,
            **self.costs,
            "verdicts": {
                judge: [_told(verdict) for verdict in verdicts] for judge, verdicts in self.verdicts.items()
            },
        }


def scored(
    system: System,
    question: int,
    key: str,
    said: Said,
    *,
    overlap: str = "",
    costs: Mapping[str, float | None] = _UNKNOWN_COSTS,
) -> ScoredReply:
    """Measure a reply."""
    return ScoredReply(
        system=system,
        question=question,
        key=key,
        said=said,
        overlap=overlap,
        scores=scores_of(said),
        marks=marks_of(said),
        costs=costs,
    )


def _told(verdict: Verdict) -> dict[str, Any]:
    return {
        "measure": verdict.measure,
        "value": verdict.value,
        "status": verdict.status,
        "reason": verdict.reason,
    }

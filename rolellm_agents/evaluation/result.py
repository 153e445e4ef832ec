"""The result of an evaluation, as data for the terminal, for programs and for reports."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rolellm_agents.datasets.sample import Kind, Sample
from rolellm_agents.evaluation.columns import SCORES
from rolellm_agents.evaluation.formatting import rounded
from rolellm_agents.evaluation.paper_table import PaperRow, paper_rows, printed_rows
from rolellm_agents.evaluation.rows import ResultRow
from rolellm_agents.evaluation.scored import ScoredReply, System
from rolellm_agents.evaluation.speakers import RolePersonas
from rolellm_agents.evaluation.throughput import Throughput

FORMAT: Final = 1
"""Format version of `results.json`."""


@dataclass(frozen=True, kw_only=True)
class Overlap:
    """A test question that is known from training."""

    kind: Kind
    role: str
    question: str
    why: str

    def to_json(self) -> dict[str, Any]:
        """Convert to JSON values."""
        return {"kind": self.kind, "role": self.role, "question": self.question, "why": self.why}


@dataclass(frozen=True, kw_only=True)
class RoleScore:
    """A system's mean scores on the questions to one role."""

    system: System
    kind: Kind
    role: str
    n: int
    scores: Mapping[str, float]
    words: float

    def to_json(self) -> dict[str, Any]:
        """Convert to JSON values."""
        return {
            "model": self.system.model,
            "strategy": self.system.strategy,
            "kind": self.kind,
            "role": self.role,
            "n": self.n,
            **{name: rounded(value) for name, value in self.scores.items()},
            "words": round(self.words, 2),
        }


@dataclass(frozen=True, kw_only=True)
class Result:
    """The table of an evaluation, with everything that is reported beside it."""

    config: Mapping[str, Any]
    """The run's configuration."""
    complete: bool
    """Whether every question was answered and every reply judged."""
    failed: int
    """Number of answers that failed in this run."""
    first_failure: str
    rows: Sequence[ResultRow]
    roles: Sequence[RoleScore]
    throughput: Sequence[Throughput]
    made_from: str
    """One sentence on how the test set was built when the split has no files of its own; else empty."""
    training_rows: int
    overlap: Sequence[Overlap]
    speakers: RolePersonas
    notes: Sequence[str]
    raw: Mapping[System, float] = field(default_factory=dict)
    """The mean score of each system's replies against plain answers, where it is known."""
    compared_with_rolegpt: str | None = None
    """The judge of pairs that compared all systems with RoleGPT, if there is one."""

    @property
    def paper(self) -> list[PaperRow]:
        """The rows in the paper's layout, and after them those that it printed for these settings."""
        own = paper_rows(self.rows, raw=self.raw, judge=self.compared_with_rolegpt)
        return [*own, *printed_rows(self.config["split"], self.config["language"])]

    def to_json(self) -> dict[str, Any]:
        """Convert to JSON values, without the scores of single roles."""
        return {
            "rows": [row.to_json() for row in self.rows],
            "paper_table": [row.to_json() for row in self.paper],
            "complete": self.complete,
            "failed": self.failed,
            "throughput": [one.to_json() for one in self.throughput],
            "made_from": self.made_from or None,
            "training_rows": self.training_rows,
            "overlap": [one.to_json() for one in self.overlap],
            "without_profile": list(self.speakers.without_profile),
            "from_profiles": [
                self.speakers.personas[role].name for role in sorted(self.speakers.from_profiles)
            ],
            "withheld": self._withheld(),
            "notes": list(self.notes),
            "config": dict(self.config),
        }

    def _withheld(self) -> dict[str, int]:
        """The personas whose passages contain answers, with the number of passages withheld."""
        withheld = self.speakers.withheld
        return {self.speakers.personas[role].name: number for role, number in withheld.items() if number}

    def to_file(self, files: Mapping[str, Any]) -> dict[str, Any]:
        """The content of `results.json`.

        Args:
            files: names of the other files in the run's folder, by content.
        """
        return {
            "benchmark": "rolebench",
            "format": FORMAT,
            **self.to_json(),
            "roles": [role.to_json() for role in self.roles],
            "files": dict(files),
        }


def overlap_of(asked: Iterable[Sample], reasons: Iterable[str]) -> list[Overlap]:
    """The questions with a non-empty reason, in order; duplicates are kept."""
    return [
        Overlap(kind=sample.kind, role=sample.role, question=sample.question, why=why)
        for sample, why in zip(asked, reasons, strict=True)
        if why
    ]


def role_scores(scored: Iterable[ScoredReply]) -> list[RoleScore]:
    """The means for each system, kind and role, in order of first occurrence."""
    cells: dict[tuple[System, Kind, str], list[ScoredReply]] = defaultdict(list)
    for one in scored:
        cells[one.system, one.kind, one.role].append(one)
    return [
        RoleScore(
            system=system,
            kind=kind,
            role=role,
            n=len(replies),
            scores={name: sum(one.scores[name] for one in replies) / len(replies) for name in SCORES},
            words=sum(one.marks["words"] for one in replies) / len(replies),
        )
        for (system, kind, role), replies in cells.items()
    ]

"""The table of a suite: a row for each system, benchmark and category."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rolellm_agents.evaluation.formatting import bounds, rounded
from rolellm_agents.evaluation.suite.scoring import chance_level
from rolellm_agents.evaluation.suite.tasks import GradedBy, RatedAs, SuiteTask
from rolellm_agents.metrics import Interval, mean_interval

ALL = "all"
"""The category of all tasks of a benchmark."""


@dataclass(frozen=True, kw_only=True)
class SuiteRow:
    """A system's score in one category of a benchmark."""

    system: str
    benchmark: str
    category: str
    score: Interval | None
    """With an interval by persona; None if no answer has a score."""
    unscored: int
    """Answers without a score: the judge gave none."""
    best: int
    """The highest possible score: 1, or 5 for grades."""
    chance: float | None
    """The score of random answers, if it is known."""

    def as_json(self) -> dict[str, Any]:
        """The row as JSON values."""
        return {
            "system": self.system,
            "benchmark": self.benchmark,
            "category": self.category,
            "score": rounded(self.score.mean) if self.score else None,
            "ci95": bounds(self.score),
            "n": self.score.n if self.score else 0,
            "unscored": self.unscored,
            "best": self.best,
            "chance": rounded(self.chance),
        }


def suite_rows(
    tasks: Sequence[SuiteTask], scores: Mapping[str, Mapping[str, float | None]]
) -> list[SuiteRow]:
    """The rows of a table, by benchmark and category, then by system.

    Args:
        tasks: the tasks.
        scores: for each system, the score of each task by its key; None without a score. The tasks of a
            unit of `RatedAs` count as one.
    """
    tasks, scores = _by_unit(tasks, scores)
    benchmarks = dict.fromkeys(task.benchmark for task in tasks)
    rows = []
    for benchmark in benchmarks:
        own = [task for task in tasks if task.benchmark == benchmark]
        categories = dict.fromkeys(task.category for task in own)
        groups = {name: [task for task in own if task.category == name] for name in categories}
        if len(groups) > 1:
            groups[ALL] = own
        for category, group in groups.items():
            rows += [_row(system, category, group, found) for system, found in scores.items()]
    return rows


def _by_unit(
    tasks: Sequence[SuiteTask], scores: Mapping[str, Mapping[str, float | None]]
) -> tuple[list[SuiteTask], dict[str, dict[str, float | None]]]:
    """One task for each unit of `RatedAs`, with the unit's score, beside all other tasks."""
    units: defaultdict[str, list[SuiteTask]] = defaultdict(list)
    for task in tasks:
        units[task.expected.unit if isinstance(task.expected, RatedAs) else task.key].append(task)
    kept = [members[0] for members in units.values()]
    return kept, {
        system: {members[0].key: _unit_score(members, found) for members in units.values()}
        for system, found in scores.items()
    }


def _unit_score(members: Sequence[SuiteTask], scores: Mapping[str, float | None]) -> float | None:
    expected = members[0].expected
    if not isinstance(expected, RatedAs):
        return scores.get(members[0].key)
    values = [value for one in members if (value := scores.get(one.key)) is not None]
    return float(expected.is_right(sum(values) / len(values))) if values else None


def _row(
    system: str, category: str, tasks: Sequence[SuiteTask], scores: Mapping[str, float | None]
) -> SuiteRow:
    known = [(score, task.cluster) for task in tasks if (score := scores.get(task.key)) is not None]
    values, clusters = zip(*known, strict=True) if known else ((), ())
    return SuiteRow(
        system=system,
        benchmark=tasks[0].benchmark,
        category=category,
        score=mean_interval(values, clusters) if known else None,
        unscored=len(tasks) - len(known),
        best=5 if isinstance(tasks[0].expected, GradedBy) else 1,
        chance=chance_level(tasks),
    )

"""The table of an evaluation: a row for each system and kind of question."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from rolellm_agents.datasets.sample import Kind
from rolellm_agents.evaluation.columns import COSTS, MAIN, MARKS, POOLED, SCORES
from rolellm_agents.evaluation.formatting import bounds, mean_of, rounded
from rolellm_agents.evaluation.judgements import Judgement, judgements_of
from rolellm_agents.evaluation.scored import ScoredReply, System
from rolellm_agents.metrics import Interval, difference_interval, mean_interval
from rolellm_agents.metrics.paired_tests import sign_flip_p_value

_CI: Final = "ci95"


class Difference(NamedTuple):
    """The difference in score between two systems on the same questions."""

    interval: Interval
    p: float
    """p-value of a permutation test over whole roles; with few roles it is never small."""


@dataclass(frozen=True, kw_only=True)
class ResultRow:
    """A system's figures on one kind of question; intervals are clustered by role."""

    system: System
    kind: Kind
    n: int
    """Number of replies, one for each answered question."""
    missing: int
    """Number of questions without a reply of this system."""
    roles: int
    scores: Mapping[str, Interval]
    n_clean: int | None
    """Number of replies to questions that are new; None when there are no training rows."""
    clean: Mapping[str, Interval]
    """The scores on new questions alone."""
    means: Mapping[str, float | None]
    """Means of marks and costs, and pooled figures; None where unknown."""
    less_first: Mapping[str, Difference] = field(default_factory=dict)
    """Differences to the first row of the same kind, on the questions that both systems answered."""
    judged: Sequence[Judgement] = ()

    def to_json(self) -> dict[str, Any]:
        """Convert to one flat JSON object; `…_ci95` is a pair of bounds, or null for a single role."""
        figures: dict[str, Any] = {
            "model": self.system.model,
            "strategy": self.system.strategy,
            "kind": self.kind,
        }
        for name in SCORES:
            figures[name] = mean_of(self.scores.get(name))
            figures[_CI if name == MAIN else f"{name}_{_CI}"] = bounds(self.scores.get(name))
        figures |= {"n": self.n, "missing": self.missing, "roles": self.roles}
        figures |= {name: rounded(value) for name, value in self.means.items()}
        figures["n_clean"] = self.n_clean
        for name in SCORES:
            figures[f"{name}_clean"] = mean_of(self.clean.get(name))
            figures[f"{name}_clean_{_CI}"] = bounds(self.clean.get(name))
        for name, difference in self.less_first.items():
            figures[f"{name}_less_first"] = mean_of(difference.interval)
            figures[f"{name}_less_first_{_CI}"] = bounds(difference.interval)
            figures[f"{name}_less_first_p"] = rounded(difference.p)
        figures["judged"] = [judgement.to_json() for judgement in self.judged]
        return figures


def rows_of(
    scored: Iterable[ScoredReply],
    systems: Sequence[System],
    *,
    asked: Mapping[Kind, int],
    training_known: bool,
    judged_against: System | None = None,
) -> list[ResultRow]:
    """Build the rows, kind by kind, in the order of the systems.

    A published system has a row only for kinds with replies.

    The other systems are compared with the first. `asked` has the number of questions of each kind, in the
    order of the rows. With `training_known` there are training rows, so that new questions are known.
    Judges of pairs compared the systems with `judged_against`, the first system by default.
    """
    by_cell: dict[tuple[Kind, System], list[ScoredReply]] = defaultdict(list)
    for one in scored:
        by_cell[one.kind, one.system].append(one)
    rows = []
    for kind, number in asked.items():
        first = by_cell[kind, systems[0]]
        others = by_cell[kind, judged_against or systems[0]]
        for place, system in enumerate(systems):
            replies = by_cell[kind, system]
            if replies or not system.is_published:
                compared = first if place else []
                row = _row(system, kind, replies, compared, number, training_known=training_known)
                rows.append(replace(row, judged=judgements_of(replies, others)))
    return rows


def _row(
    system: System,
    kind: Kind,
    replies: Sequence[ScoredReply],
    first: Sequence[ScoredReply],
    asked: int,
    *,
    training_known: bool,
) -> ResultRow:
    new = [one for one in replies if not one.overlap] if training_known else []
    return ResultRow(
        system=system,
        kind=kind,
        n=len(replies),
        missing=asked - len(replies),
        roles=len({one.role for one in replies}),
        scores=_intervals(replies),
        n_clean=len(new) if training_known else None,
        clean=_intervals(new),
        means=_means(replies),
        less_first=_differences(replies, first),
    )


def _intervals(replies: Sequence[ScoredReply]) -> dict[str, Interval]:
    if not replies:
        return {}
    roles = [one.role for one in replies]
    return {name: mean_interval([one.scores[name] for one in replies], roles) for name in SCORES}


def _differences(replies: Sequence[ScoredReply], first: Sequence[ScoredReply]) -> dict[str, Difference]:
    theirs = {one.question: one for one in first}
    both = [one for one in replies if one.question in theirs]
    return {name: _difference(name, both, theirs) for name in SCORES} if both else {}


def _difference(name: str, replies: Sequence[ScoredReply], theirs: Mapping[int, ScoredReply]) -> Difference:
    own = [one.scores[name] for one in replies]
    other = [theirs[one.question].scores[name] for one in replies]
    roles = [one.role for one in replies]
    return Difference(difference_interval(own, other, roles), sign_flip_p_value(own, other, roles))


def _means(replies: Sequence[ScoredReply]) -> dict[str, float | None]:
    means = {name: _average([one.marks[name] for one in replies]) for name in MARKS}
    texts = [one.answered.reply for one in replies]
    pooled = {name: figure(texts) if texts else None for name, figure in POOLED.items()}
    costs = {name: _average([one.costs[name] for one in replies]) for name in COSTS}
    return {**means, **pooled, **costs}


def _average(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None

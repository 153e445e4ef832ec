"""What judges' verdicts on a system's replies come to."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from rolellm_agents.evaluation.formatting import bounds, mean_of
from rolellm_agents.evaluation.scored import ScoredReply
from rolellm_agents.judging import Verdict
from rolellm_agents.judging.position import PositionBias, position_bias
from rolellm_agents.metrics import Interval, mean_interval
from rolellm_agents.metrics.win_rates import length_controlled_win_rate


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What a judge said of a system's replies, by one measure."""

    judge: str
    measure: str
    interval: Interval | None
    """Of the verdicts that have a value, clustered by role; None if none has."""
    unscored: Mapping[str, int]
    """How many verdicts have none, by their status; they count for nothing, never for zero."""
    position: PositionBias | None = None
    """Of a judge of pairs, which was asked in both orders."""
    at_equal_length: Interval | None = None
    """Of a judge of pairs: how often the system would win, were its replies as long as the other's."""

    def to_json(self) -> dict[str, Any]:
        """Convert to JSON values."""
        return {
            "judge": self.judge,
            "measure": self.measure,
            "mean": mean_of(self.interval),
            "ci95": bounds(self.interval),
            "n": 0 if self.interval is None else self.interval.n,
            "unscored": dict(self.unscored),
            "position": self.position and asdict(self.position),
            "at_equal_length": mean_of(self.at_equal_length),
            "at_equal_length_ci95": bounds(self.at_equal_length),
        }


def judgements_of(replies: Sequence[ScoredReply], first: Sequence[ScoredReply]) -> list[Judgement]:
    """One of each judge and measure, in the order in which they come.

    Args:
        replies: a system's.
        first: the replies of the system that judges of pairs laid beside them.
    """
    lengths = {one.question: one.marks["words"] for one in first}
    said: dict[tuple[str, str], list[_Said]] = defaultdict(list)
    for one in replies:
        for judge, verdicts in one.verdicts.items():
            for verdict in verdicts:
                words = one.marks["words"], lengths.get(one.question)
                said[judge, verdict.measure].append(_Said(one.role, verdict, *words))
    return [_judgement(judge, measure, held) for (judge, measure), held in said.items()]


class _Said(NamedTuple):
    """A verdict, on whose reply it is, and how long that and the other one are."""

    role: str
    verdict: Verdict
    words: float
    other_words: float | None


def _judgement(judge: str, measure: str, said: Sequence[_Said]) -> Judgement:
    valued = [(one.role, one.verdict.value) for one in said if one.verdict.value is not None]
    unscored = Counter(str(one.verdict.status) for one in said if one.verdict.value is None)
    position = position_bias(one.verdict for one in said)
    return Judgement(
        judge=judge,
        measure=measure,
        interval=mean_interval([value for _, value in valued], [role for role, _ in valued])
        if valued
        else None,
        unscored=dict(sorted(unscored.items())),
        position=position if position.n else None,
        at_equal_length=_at_equal_length(said) if position.n else None,
    )


def _at_equal_length(said: Sequence[_Said]) -> Interval | None:
    compared = [
        (one.role, one.verdict.value, one.words, one.other_words)
        for one in said
        if one.verdict.value is not None and one.other_words is not None
    ]
    if not compared:
        return None
    roles, preferences, words, others = zip(*compared, strict=True)
    return length_controlled_win_rate(preferences, words, others, roles)

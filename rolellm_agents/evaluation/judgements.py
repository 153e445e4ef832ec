"""Summaries of judges' verdicts on a system's replies."""

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
    """A judge's verdicts on a system's replies, summarized for one measure."""

    judge: str
    measure: str
    interval: Interval | None
    """The mean of the verdicts with a value, clustered by role; None if there are none."""
    unscored: Mapping[str, int]
    """Number of verdicts without a value, by status; the mean ignores them."""
    position: PositionBias | None = None
    """The position bias of a judge of pairs."""
    at_equal_length: Interval | None = None
    """For a judge of pairs, the win rate if both systems' replies were equally long."""

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
    """Summarize the verdicts of each judge and measure, in order of first occurrence.

    The replies are those of one system; judges of pairs compared them with those of `first`.
    """
    lengths = {one.question: one.marks["words"] for one in first}
    said: dict[tuple[str, str], list[_JudgedReply]] = defaultdict(list)
    for one in replies:
        for judge, verdicts in one.verdicts.items():
            for verdict in verdicts:
                words = one.marks["words"], lengths.get(one.question)
                said[judge, verdict.measure].append(_JudgedReply(one.role, verdict, *words))
    return [_judgement(judge, measure, held) for (judge, measure), held in said.items()]


class _JudgedReply(NamedTuple):
    """A verdict with the reply's role, and the lengths of the reply and of the one it is compared with."""

    role: str
    verdict: Verdict
    words: float
    other_words: float | None


def _judgement(judge: str, measure: str, said: Sequence[_JudgedReply]) -> Judgement:
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


def _at_equal_length(said: Sequence[_JudgedReply]) -> Interval | None:
    compared = [
        (one.role, one.verdict.value, one.words, one.other_words)
        for one in said
        if one.verdict.value is not None and one.other_words is not None
    ]
    if not compared:
        return None
    roles, preferences, words, others = zip(*compared, strict=True)
    return length_controlled_win_rate(preferences, words, others, roles)

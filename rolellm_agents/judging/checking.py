"""Reliability of a judge: detection of planted faults, and bias towards length."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rolellm_agents.judging.label_agreement import Agreement
from rolellm_agents.judging.position import PositionBias
from rolellm_agents.judging.rate import Rate, clustered_rate
from rolellm_agents.metrics.correlation import Correlated, correlated, spearman

PADDING = "padding"
"""The kind of fault that only lengthens a reply."""
ALL = "all"
"""All kinds together, weighted by their number of items."""


class FaultOutcome(NamedTuple):
    """Whether a judge preferred a clean reply to the same reply with a fault."""

    kind: str
    persona: str
    detected: float | None
    """1 when the clean reply scored higher, 0 when the faulty one did, 0.5 for a tie; None if unjudged."""


@dataclass(frozen=True, kw_only=True)
class MeasureCheck:
    """The reliability of one measure of a judge."""

    measure: str
    detected: Mapping[str, Rate] = field(default_factory=dict)
    """How often the clean reply scored higher, by kind of fault."""
    length: Correlated | None = None
    """Spearman's correlation of values with word counts over clean replies; None for a judge of pairs."""
    orders: PositionBias | None = None
    """The position bias; None for a judge of single replies."""
    labels: tuple[Agreement, ...] = ()
    """The agreement with human labels, by aspect."""
    unscored: Mapping[str, int] = field(default_factory=dict)
    """The number of verdicts without a value, by status."""


@dataclass(frozen=True, kw_only=True)
class JudgeCheck:
    """The reliability of a judge."""

    judge: str
    """The judge's name; `published` for a judge whose values are in the file of labels."""
    model: str
    """The judging model, or the published judge's name."""
    measures: tuple[MeasureCheck, ...]


def preference(clean: float | None, faulty: float | None) -> float | None:
    """1 when the clean reply has the higher value, 0 when the faulty one has, 0.5 for a tie; else None."""
    if clean is None or faulty is None:
        return None
    return 0.5 if clean == faulty else float(clean > faulty)


def detections(outcomes: Sequence[FaultOutcome]) -> dict[str, Rate]:
    """Detection rate of each kind of fault, in order of first occurrence, and of all kinds together."""
    kinds = dict.fromkeys(one.kind for one in outcomes)
    rates = {kind: _detected([one for one in outcomes if one.kind == kind]) for kind in kinds}
    return {**rates, ALL: _detected(outcomes)}


def _detected(outcomes: Sequence[FaultOutcome]) -> Rate:
    return clustered_rate([(one.detected, one.persona) for one in outcomes])


def length_correlation(
    values: Sequence[float], words: Sequence[int], personas: Sequence[str]
) -> Correlated | None:
    """Spearman's correlation of a judge's values with the lengths of equally good replies.

    Returns:
        None when there is no reply.
    """
    if not values:
        return None
    return correlated(spearman, [*zip(values, map(float, words), strict=True)], personas)


def unscored(statuses: Iterable[str]) -> dict[str, int]:
    """The number of verdicts without a value, by status."""
    return dict(Counter(one for one in statuses if one != "scored"))

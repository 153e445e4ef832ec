"""Reliability of a judge: detection of planted faults, bias towards length, agreement with human labels."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from rolellm_agents.judging.human_labels import HumanLabel
from rolellm_agents.metrics import mean_interval
from rolellm_agents.metrics.agreement import Level, krippendorff_alpha
from rolellm_agents.metrics.correlation import CORRELATIONS, Correlated, correlated, spearman

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
class Rate:
    """A mean of values between 0 and 1, with its 95 % interval, clustered by persona."""

    value: float | None
    ci95: tuple[float, float] | None
    n: int
    unjudged: int
    """Number of items without a verdict; the mean excludes them."""


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Agreement of a judge with human labels."""

    what: Literal["scores", "preferences"]
    aspect: str
    """What was labelled; empty if the labels do not say."""
    n: int
    correlations: Mapping[str, Correlated] = field(default_factory=dict)
    """Correlations of the judge's values with the people's mean scores, by name."""
    agreement: Rate | None = None
    """How often the judge prefers the reply that most people prefer.

    A tie of the judge counts half; pairs on which the people tie are excluded.
    """
    people_alpha: float | None = None
    """Krippendorff's alpha among the people; None when no reply was labelled by two people."""

    @property
    def strength(self) -> Literal["none shown", "weak", "moderate", "strong", "unknown"]:
        """What the judge is good for, by the lower end of the interval.

        `none shown` if chance explains the agreement, `unknown` if there is no interval.
        """
        if self.agreement is not None:
            low = self.agreement.ci95[0] if self.agreement.ci95 else None
            above_chance = None if low is None else 2 * low - 1
        else:
            above_chance = self.correlations["spearman"].low if self.correlations else None
        if above_chance is None:
            return "unknown"
        limits: tuple[tuple[float, Literal["none shown", "weak", "moderate"]], ...] = (
            (0.0, "none shown"),
            (0.3, "weak"),
            (0.6, "moderate"),
        )
        return next((name for limit, name in limits if above_chance <= limit), "strong")


def preference(clean: float | None, faulty: float | None) -> float | None:
    """1 when the clean reply has the higher value, 0 when the faulty one has, 0.5 for a tie; else None."""
    if clean is None or faulty is None:
        return None
    return 0.5 if clean == faulty else float(clean > faulty)


def detections(outcomes: Sequence[FaultOutcome]) -> dict[str, Rate]:
    """Detection rate of each kind of fault, in order of first occurrence, and of all kinds together."""
    kinds = dict.fromkeys(one.kind for one in outcomes)
    rates = {kind: _rate([one for one in outcomes if one.kind == kind]) for kind in kinds}
    return {**rates, ALL: _rate(outcomes)}


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


def agreement_on_scores(labels: Sequence[HumanLabel], values: Sequence[float | None]) -> Agreement:
    """Agreement of a judge's values with the scores that people gave to one aspect; at least one label.

    The judge's values are in the order of the labels; None where it gave none.
    """
    known = [(label, value) for label, value in zip(labels, values, strict=True) if value is not None]
    pairs = [(value, label.value) for label, value in known]
    personas = [label.persona for label, _ in known]
    return Agreement(
        what="scores",
        aspect=labels[0].aspect,
        n=len(known),
        correlations={
            name: correlated(correlation, pairs, personas) for name, correlation in CORRELATIONS.items()
        }
        if known
        else {},
        people_alpha=_alpha(labels, "interval"),
    )


def agreement_on_preferences(labels: Sequence[HumanLabel], preferred: Sequence[float | None]) -> Agreement:
    """Agreement of a judge's preferences with those of most people on one aspect; at least one label.

    The judge's preferences are in the order of the labels: 1, 0 or 0.5; None where it gave none.
    """
    decided = [
        FaultOutcome(ALL, label.persona, None if own is None else 1 - abs(own - float(label.value > 0.5)))
        for label, own in zip(labels, preferred, strict=True)
        if label.value != 0.5
    ]
    rate = _rate(decided)
    return Agreement(
        what="preferences",
        aspect=labels[0].aspect,
        n=rate.n,
        agreement=rate,
        people_alpha=_alpha(labels, "nominal"),
    )


def _alpha(labels: Iterable[HumanLabel], level: Level) -> float | None:
    return krippendorff_alpha([[*label.by_person.values()] for label in labels], level)


def _rate(outcomes: Sequence[FaultOutcome]) -> Rate:
    known = [(one.detected, one.persona) for one in outcomes if one.detected is not None]
    unjudged = len(outcomes) - len(known)
    if not known:
        return Rate(value=None, ci95=None, n=0, unjudged=unjudged)
    values, personas = zip(*known, strict=True)
    found = mean_interval(values, personas)
    ci95 = None if found.low is None or found.high is None else (found.low, found.high)
    return Rate(value=found.mean, ci95=ci95, n=found.n, unjudged=unjudged)


def unscored(statuses: Iterable[str]) -> dict[str, int]:
    """The number of verdicts without a value, by status."""
    return dict(Counter(one for one in statuses if one != "scored"))

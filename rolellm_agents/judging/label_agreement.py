"""Agreement of a judge with human labels, for each aspect by itself."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Literal

from rolellm_agents.judging.human_labels import HumanLabel
from rolellm_agents.judging.rate import Rate, clustered_rate
from rolellm_agents.metrics.agreement import Level, krippendorff_alpha
from rolellm_agents.metrics.correlation import CORRELATIONS, Correlated, correlated
from rolellm_agents.metrics.isotonic import IsotonicCurve, held_out_values, isotonic_curve

Strength = Literal["none shown", "weak", "moderate", "strong", "unknown"]
"""How far a judge agrees with people; `none shown` if chance explains it, `unknown` without an interval."""
_ENOUGH: Final = 10
"""Fewer labels are not calibrated: their curve would follow single people."""


@dataclass(frozen=True, kw_only=True)
class PeopleScale:
    """The translation of a judge's values to the scale of people's scores."""

    curve: IsotonicCurve
    """Fitted to all labels."""
    error: float
    """Mean absolute error of values that were translated by a curve fitted without their persona."""
    mean_error: float
    """Mean absolute error of a judge that always says the people's mean."""


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
    alpha: Correlated | None = None
    """Krippendorff's alpha of the judge with the people's mean score or majority.

    Scores are compared at the interval level, after the judge's values were translated to the people's
    scale by curves fitted without the persona; None when there are too few.
    """
    scale: PeopleScale | None = None
    """None for preferences, and when there are too few scores."""
    people_alpha: float | None = None
    """Krippendorff's alpha among the people; None when no reply was labelled by two people."""

    @property
    def name(self) -> str:
        """The aspect, or what was labelled if the labels name no aspect."""
        if self.what == "preferences":
            return f"{self.aspect} (pairs)" if self.aspect else "preferences"
        return self.aspect or "scores"

    @property
    def strength(self) -> Strength:
        """What the judge is good for, by the lower end of the interval."""
        above_chance = self.above_chance
        if above_chance is None:
            return "unknown"
        limits: tuple[tuple[float, Strength], ...] = (
            (0.0, "none shown"),
            (0.3, "weak"),
            (0.6, "moderate"),
        )
        return next((name for limit, name in limits if above_chance <= limit), "strong")

    @property
    def above_chance(self) -> float | None:
        """The lower end of the interval: Spearman's correlation, or the agreement rescaled from -1 to 1."""
        if self.agreement is None:
            return self.correlations["spearman"].low if self.correlations else None
        return 2 * self.agreement.ci95[0] - 1 if self.agreement.ci95 else None


def agreements(labels: Sequence[HumanLabel], values: Mapping[str, float | None]) -> tuple[Agreement, ...]:
    """The agreement on each aspect: first of scores, then of preferences.

    Args:
        labels: human labels of any kind and aspect.
        values: by a label's key, the judge's value of the reply, or of a pair 1, 0 or 0.5 as its
            preference; None, or no key, where it gave none.
    """
    alone = [one for one in labels if one.other is None]
    beside = [one for one in labels if one.other is not None]
    return (
        *(agreement_on_scores(same, [values.get(one.key) for one in same]) for same in _by_aspect(alone)),
        *(
            agreement_on_preferences(same, [values.get(one.key) for one in same])
            for same in _by_aspect(beside)
        ),
    )


def agreement_on_scores(labels: Sequence[HumanLabel], values: Sequence[float | None]) -> Agreement:
    """Agreement of a judge's values with the scores that people gave to one aspect; at least one label.

    The judge's values are in the order of the labels; None where it gave none.
    """
    known = [(label, value) for label, value in zip(labels, values, strict=True) if value is not None]
    pairs = [(value, label.value) for label, value in known]
    personas = [label.persona for label, _ in known]
    translated = held_out_values(pairs, personas) if _can_be_calibrated(pairs) else []
    people = [score for _, score in pairs]
    return Agreement(
        what="scores",
        aspect=labels[0].aspect,
        n=len(known),
        correlations={
            name: correlated(correlation, pairs, personas) for name, correlation in CORRELATIONS.items()
        }
        if known
        else {},
        alpha=_alpha(zip(translated, people, strict=True), "interval", personas) if translated else None,
        scale=_people_scale(pairs, translated) if translated else None,
        people_alpha=_people_alpha(labels, "interval"),
    )


def agreement_on_preferences(labels: Sequence[HumanLabel], preferred: Sequence[float | None]) -> Agreement:
    """Agreement of a judge's preferences with those of most people on one aspect; at least one label.

    The judge's preferences are in the order of the labels: 1, 0 or 0.5; None where it gave none.
    """
    decided = [(label, own) for label, own in zip(labels, preferred, strict=True) if label.value != 0.5]
    rate = clustered_rate(
        [
            (None if own is None else 1 - abs(own - _majority(label)), label.persona)
            for label, own in decided
        ]
    )
    known = [(own, _majority(label), label.persona) for label, own in decided if own is not None]
    return Agreement(
        what="preferences",
        aspect=labels[0].aspect,
        n=rate.n,
        agreement=rate,
        alpha=_alpha([(own, most) for own, most, _ in known], "nominal", [one for _, _, one in known])
        if known
        else None,
        people_alpha=_people_alpha(labels, "nominal"),
    )


def _majority(label: HumanLabel) -> float:
    return float(label.value > 0.5)


def _by_aspect(labels: Sequence[HumanLabel]) -> list[list[HumanLabel]]:
    aspects = sorted({one.aspect for one in labels})
    return [[one for one in labels if one.aspect == aspect] for aspect in aspects]


def _can_be_calibrated(pairs: Sequence[tuple[float, float]]) -> bool:
    return len(pairs) >= _ENOUGH and len({value for value, _ in pairs}) > 1


def _people_scale(pairs: Sequence[tuple[float, float]], translated: Sequence[float]) -> PeopleScale:
    people = [score for _, score in pairs]
    mean = sum(people) / len(people)
    return PeopleScale(
        curve=isotonic_curve(pairs),
        error=_mean_distance(zip(translated, people, strict=True)),
        mean_error=_mean_distance((mean, score) for score in people),
    )


def _mean_distance(pairs: Iterable[tuple[float, float]]) -> float:
    distances = [abs(one - other) for one, other in pairs]
    return sum(distances) / len(distances)


def _alpha(pairs: Iterable[tuple[float, float]], level: Level, personas: Sequence[str]) -> Correlated:
    return correlated(partial(krippendorff_alpha, level=level), [*pairs], personas)


def _people_alpha(labels: Iterable[HumanLabel], level: Level) -> float | None:
    return krippendorff_alpha([[*label.by_person.values()] for label in labels], level)

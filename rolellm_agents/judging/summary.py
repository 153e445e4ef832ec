"""Summary of verdicts: a mean with its interval for each measure, and the verdicts without a value."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rolellm_agents.judging.verdict import Status, Verdict


@dataclass(frozen=True, kw_only=True)
class MeasureSummary:
    """One measure over all judged items."""

    measure: str
    n: int
    """Number of verdicts with a value; the mean ignores the others."""
    mean: float | None
    ci95: tuple[float, float] | None
    """None when there is only one reply."""
    clustered_by: str
    """`persona`, or `reply` for a single persona; the interval then holds for this persona only."""
    unscored: Mapping[Status, int] = field(default_factory=dict)
    """Number of verdicts without a value, by status."""


def summarize(verdicts: Iterable[Verdict], persona_of: Mapping[str, str]) -> list[MeasureSummary]:
    """Summarize each measure, in order of first occurrence.

    `persona_of` has the persona of each subject; intervals are clustered by persona.
    """
    by_measure: dict[str, list[Verdict]] = {}
    for one in verdicts:
        by_measure.setdefault(one.measure, []).append(one)
    return [_summary(measure, held, persona_of) for measure, held in by_measure.items()]


def _summary(measure: str, verdicts: Sequence[Verdict], persona_of: Mapping[str, str]) -> MeasureSummary:
    # Imported here because it imports numpy for two or more clusters.
    from rolellm_agents.metrics import mean_interval

    scored = [(one.subject, one.value) for one in verdicts if one.value is not None]
    personas = [persona_of.get(subject, subject) for subject, _ in scored]
    several = len(set(personas)) > 1
    clusters = personas if several else [subject for subject, _ in scored]
    found = mean_interval([value for _, value in scored], clusters) if scored else None
    low_high = None
    if found is not None and found.low is not None and found.high is not None:
        low_high = (found.low, found.high)
    return MeasureSummary(
        measure=measure,
        n=len(scored),
        mean=found.mean if found else None,
        ci95=low_high,
        clustered_by="persona" if several else "reply",
        unscored=Counter(one.status for one in verdicts if one.value is None),
    )

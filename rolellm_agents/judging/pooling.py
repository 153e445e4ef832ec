"""Several judges' verdicts on the same replies: the pooled one, and how far they agree."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Final, Literal

from rolellm_agents.judging.json_form import verdict_from_json, verdict_to_json
from rolellm_agents.judging.verdict import Verdict
from rolellm_agents.metrics.agreement import krippendorff_alpha

Pooling = Literal["mean", "majority"]
POOLINGS: Final[tuple[Pooling, ...]] = ("mean", "majority")


def pooled(verdicts: Sequence[Verdict], how: Pooling) -> Verdict:
    """One verdict out of several judges' on one subject and measure; each of them is kept in its details.

    Those without a value do not count. Where several values are the most frequent, the majority is their
    mean.

    Args:
        verdicts: at least one, one of each judge.
        how: the mean, which suits grades, or the majority, which suits preferences.
    """
    first = verdicts[0]
    values = [one.value for one in verdicts if one.value is not None]
    reasons = [one.reason for one in verdicts if one.value is not None or not values]
    orders = [one.details["orders"] for one in verdicts if "orders" in one.details]
    of_pairs = {"orders": [], "consistent": all(one.details.get("consistent") for one in verdicts)}
    return Verdict(
        subject=first.subject,
        measure=first.measure,
        value=_pool(values, how) if values else None,
        status="scored" if values else first.status,
        reason=" / ".join(dict.fromkeys(filter(None, reasons))),
        model="panel:" + "+".join(one.model for one in verdicts),
        prompt=first.prompt,
        details={
            "pooled": how,
            **(of_pairs if orders else {}),
            "verdicts": [verdict_to_json(one) for one in verdicts],
        },
    )


def members_of(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Each judge's own verdicts, where they were pooled; a single judge's are its own."""
    return [
        member
        for one in verdicts
        for member in (
            map(verdict_from_json, one.details["verdicts"]) if "pooled" in one.details else [one]
        )
    ]


def agreement(verdicts: Iterable[Verdict]) -> Mapping[str, float | None]:
    """Krippendorff's alpha between the judges, by measure; None where there is too little to tell it.

    1 is agreement, 0 what chance would give. Values are taken as ordered, not as so far apart: two judges'
    grades have no common unit.

    Args:
        verdicts: of any number of judges on any number of subjects, one of each judge on each.
    """
    rated: defaultdict[str, defaultdict[str, list[float | None]]] = defaultdict(lambda: defaultdict(list))
    for one in verdicts:
        rated[one.measure][one.subject].append(one.value)
    return {measure: krippendorff_alpha([*units.values()], "ordinal") for measure, units in rated.items()}


def _pool(values: Sequence[float], how: Pooling) -> float:
    if how == "mean":
        return fmean(values)
    counted = Counter(values)
    most = max(counted.values())
    return fmean(value for value, times in counted.items() if times == most)

"""Pooling of several judges' verdicts on the same replies, and the judges' agreement."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Literal

from rolellm_agents.judging.json_form import verdict_from_json, verdict_to_json
from rolellm_agents.judging.verdict import Verdict
from rolellm_agents.metrics.agreement import krippendorff_alpha

Pooling = Literal["mean", "majority"]


def pooled(verdicts: Sequence[Verdict], how: Pooling) -> Verdict:
    """Pool several judges' verdicts on one subject and measure; the details keep each of them.

    Verdicts without a value are ignored. When several values are equally frequent, the majority is their
    mean.

    Args:
        verdicts: one verdict of each judge, at least one.
        how: `mean`, which suits grades, or `majority`, which suits preferences.
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
    """The judges' single verdicts: those inside pooled verdicts, and verdicts that are not pooled."""
    return [
        member
        for one in verdicts
        for member in (
            map(verdict_from_json, one.details["verdicts"]) if "pooled" in one.details else [one]
        )
    ]


def agreement(verdicts: Iterable[Verdict]) -> Mapping[str, float | None]:
    """Krippendorff's alpha between the judges, by measure; None when there are too few verdicts.

    1 is perfect agreement, 0 is agreement by chance. The ordinal level is used because two judges' grades
    have no common unit.

    Args:
        verdicts: verdicts of any number of judges and subjects, one for each judge and subject.
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

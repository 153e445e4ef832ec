"""Rates with intervals, clustered by persona."""

from collections.abc import Sequence
from dataclasses import dataclass

from rolellm_agents.metrics import mean_interval


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A mean of values between 0 and 1, with its 95 % interval, clustered by persona."""

    value: float | None
    ci95: tuple[float, float] | None
    n: int
    unjudged: int
    """Number of items without a verdict; the mean excludes them."""


def clustered_rate(outcomes: Sequence[tuple[float | None, str]]) -> Rate:
    """The rate of outcomes with their personas; None is an outcome without a verdict."""
    known = [(value, persona) for value, persona in outcomes if value is not None]
    unjudged = len(outcomes) - len(known)
    if not known:
        return Rate(value=None, ci95=None, n=0, unjudged=unjudged)
    values, personas = zip(*known, strict=True)
    found = mean_interval(values, personas)
    ci95 = None if found.low is None or found.high is None else (found.low, found.high)
    return Rate(value=found.mean, ci95=ci95, n=found.n, unjudged=unjudged)

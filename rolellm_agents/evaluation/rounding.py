"""Figures as they are written down."""

from typing import Final

from rolellm_agents.metrics import Interval

_DIGITS: Final = 4


def rounded(value: float | None) -> float | None:
    """To four places; None stays."""
    return None if value is None else round(value, _DIGITS)


def mean_of(interval: Interval | None) -> float | None:
    """The rounded mean, if there is one."""
    return None if interval is None else rounded(interval.mean)


def bounds(interval: Interval | None) -> list[float] | None:
    """Low and high, rounded; None where nothing is known of them."""
    if interval is None or interval.low is None or interval.high is None:
        return None
    return [round(interval.low, _DIGITS), round(interval.high, _DIGITS)]

"""What other programs used of the processors while something was measured; pure arithmetic."""

from collections.abc import Iterable
from typing import NamedTuple

DISTURBED = 0.1
"""Part of the machine; when others used more, a figure is not compared with another one."""


class CounterReading(NamedTuple):
    """The counters at one moment, in seconds."""

    moment: float
    busy: float
    """What the processors have computed, all of them together."""
    own: float
    """What the benchmark, its systems under test and its background processes have computed."""


class MachineLoad(NamedTuple):
    """How busy the machine was for a while."""

    average: float
    """The system's load average over a minute, the benchmark's own processes included."""
    others: float
    """Part of the processors' time, 0 to 1, that went to other processes."""


def others_share(first: CounterReading, last: CounterReading, processors: int) -> float:
    """The part of the processors' time between two readings that other processes used."""
    available = (last.moment - first.moment) * processors
    if available <= 0:
        return 0.0
    others = (last.busy - first.busy) - (last.own - first.own)
    # The counters step in hundredths of a second, so short times may come out below 0 or above 1.
    return round(min(1.0, max(0.0, others / available)), 3)


def most(shares: Iterable[float | None]) -> float | None:
    """The highest of the shares that are known; None when none is."""
    return max((share for share in shares if share is not None), default=None)


def disturbance(others: float | None) -> str | None:
    """Why a figure is not compared, or None when the machine was quiet enough.

    Args:
        others: part of the processors' time that other processes used; None when it was not looked at.
    """
    if others is None or others <= DISTURBED:
        return None
    return f"others used {others * 100:.0f} % of the processors"

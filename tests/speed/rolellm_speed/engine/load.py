"""The load of other programs during a measurement; pure functions."""

from collections.abc import Iterable
from typing import NamedTuple

DISTURBED = 0.1
"""The share of CPU time of other programs above which figures are not compared."""


class CounterReading(NamedTuple):
    """The system's counters at one moment, in seconds."""

    moment: float
    busy: float
    """Busy time of all processors."""
    own: float
    """CPU time of the benchmark, its systems under test and its background processes."""


class MachineLoad(NamedTuple):
    """The load of the machine during an interval."""

    average: float
    """The system's load average over a minute, including the benchmark's own processes."""
    others: float
    """The share of CPU time, 0 to 1, that other processes used."""


def others_share(first: CounterReading, last: CounterReading, processors: int) -> float:
    """The share of CPU time between two readings that other processes used."""
    available = (last.moment - first.moment) * processors
    if available <= 0:
        return 0.0
    others = (last.busy - first.busy) - (last.own - first.own)
    # The counters have a resolution of 10 ms, so short intervals may give values outside of 0 to 1.
    return round(min(1.0, max(0.0, others / available)), 3)


def most(shares: Iterable[float | None]) -> float | None:
    """The highest known share; None if no share is known."""
    return max((share for share in shares if share is not None), default=None)


def disturbance(others: float | None) -> str | None:
    """The reason why a figure is not compared; None if other programs used little CPU time.

    Args:
        others: the share of CPU time that other processes used; None if it was not measured.
    """
    if others is None or others <= DISTURBED:
        return None
    return f"others used {others * 100:.0f} % of the processors"

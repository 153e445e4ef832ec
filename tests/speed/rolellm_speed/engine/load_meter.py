"""Read the system's counters before and during a measurement."""

import time
from collections.abc import Iterator
from contextlib import suppress

import psutil

from rolellm_speed.engine.load import CounterReading, MachineLoad, others_share

_LOOK_S = 0.5
"""How long the machine is looked at before a measurement."""


class LoadMeter:
    """How busy the machine was before and during one measurement."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self.before: MachineLoad | None = None
        self.during: MachineLoad | None = None
        self._first: CounterReading | None = None

    def to_json(self) -> dict[str, dict[str, float] | None]:
        """What is known."""
        return {
            "before": self.before._asdict() if self.before else None,
            "during": self.during._asdict() if self.during else None,
        }

    def look_before(self) -> None:
        """Look at the machine for a moment."""
        first = read()
        time.sleep(_LOOK_S)
        self.before = _load(first, read())

    def start(self) -> None:
        """The measurement begins."""
        self._first = read()

    def stop(self) -> None:
        """The measurement has ended, and its process still lives, so that its time can be read."""
        if self._first:
            self.during = _load(self._first, read())


def read(root: psutil.Process | None = None) -> CounterReading:
    """The counters now.

    Args:
        root: the process that is not “others”, with all that it started; this one if None.
    """
    return CounterReading(time.monotonic(), _busy_seconds(), own_seconds(root or psutil.Process()))


def own_seconds(root: psutil.Process) -> float:
    """What a process and its living descendants have computed, and those that they waited for."""
    total = 0.0
    for process in _family(root):
        # One that ends while we look counts as nothing; those that matter are held until they are read.
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def _family(root: psutil.Process) -> Iterator[psutil.Process]:
    yield root
    with suppress(psutil.NoSuchProcess):
        yield from root.children(recursive=True)


def _busy_seconds() -> float:
    """Of the processors that this process may use; what a hypervisor took away counts as busy."""
    processors = psutil.cpu_times(percpu=True)
    return sum(_busy(processors[number]) for number in _usable() if number < len(processors))


def _busy(times: tuple[float, ...]) -> float:
    # Linux counts guests' time within the user's, and waiting for a disk is not computing.
    uncounted = ("idle", "iowait", "guest", "guest_nice")
    return sum(times) - sum(getattr(times, name, 0.0) for name in uncounted)


def _usable() -> list[int]:
    process = psutil.Process()
    if hasattr(process, "cpu_affinity"):  # not on macOS
        return list(process.cpu_affinity() or ())
    return list(range(psutil.cpu_count() or 1))


def _load(first: CounterReading, last: CounterReading) -> MachineLoad:
    return MachineLoad(round(psutil.getloadavg()[0], 2), others_share(first, last, len(_usable())))

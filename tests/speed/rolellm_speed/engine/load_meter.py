"""Reads the system's counters before and during a measurement."""

import time
from collections.abc import Iterator
from contextlib import suppress

import psutil

from rolellm_speed.engine.load import CounterReading, MachineLoad, others_share

_LOOK_S = 0.5
"""Seconds of the reading before a measurement."""


class LoadMeter:
    """Measures the machine's load before and during one measurement."""

    def __init__(self) -> None:
        """Create a meter without readings."""
        self.before: MachineLoad | None = None
        self.during: MachineLoad | None = None
        self._first: CounterReading | None = None

    def to_json(self) -> dict[str, dict[str, float] | None]:
        """The readings as JSON values."""
        return {
            "before": self.before._asdict() if self.before else None,
            "during": self.during._asdict() if self.during else None,
        }

    def look_before(self) -> None:
        """Measure the load before the measurement, which takes half a second."""
        first = read()
        time.sleep(_LOOK_S)
        self.before = _load(first, read())

    def start(self) -> None:
        """Record the start of the measurement."""
        self._first = read()

    def stop(self) -> None:
        """Record the end of the measurement, before its process ends and its CPU time is lost."""
        if self._first:
            self.during = _load(self._first, read())


def read(root: psutil.Process | None = None) -> CounterReading:
    """Read the counters.

    Args:
        root: the process that, with its descendants, does not count as others; defaults to this process.
    """
    return CounterReading(time.monotonic(), _busy_seconds(), own_seconds(root or psutil.Process()))


def own_seconds(root: psutil.Process) -> float:
    """CPU time of a process, its running descendants, and ended child processes that they waited for."""
    total = 0.0
    for process in _family(root):
        # Processes that end meanwhile are ignored; the measured ones stay alive until they are read.
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def _family(root: psutil.Process) -> Iterator[psutil.Process]:
    yield root
    with suppress(psutil.NoSuchProcess):
        yield from root.children(recursive=True)


def _busy_seconds() -> float:
    """Busy time of the processors that this process may use, including time stolen by a hypervisor."""
    processors = psutil.cpu_times(percpu=True)
    return sum(_busy(processors[number]) for number in _usable() if number < len(processors))


def _busy(times: tuple[float, ...]) -> float:
    # On Linux, user time includes guest time, and iowait is idle time.
    uncounted = ("idle", "iowait", "guest", "guest_nice")
    return sum(times) - sum(getattr(times, name, 0.0) for name in uncounted)


def _usable() -> list[int]:
    process = psutil.Process()
    if hasattr(process, "cpu_affinity"):  # not on macOS
        return list(process.cpu_affinity() or ())
    return list(range(psutil.cpu_count() or 1))


def _load(first: CounterReading, last: CounterReading) -> MachineLoad:
    return MachineLoad(round(psutil.getloadavg()[0], 2), others_share(first, last, len(_usable())))

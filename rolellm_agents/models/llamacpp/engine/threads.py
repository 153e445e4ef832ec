"""The number of threads for a step: one for each processor, fewer while other programs use processors.

llama.cpp splits every operation evenly between its threads, which all wait for the slowest one at its end.
A thread that shares its processor with another program therefore slows down all others, and two threads of
which one is always interrupted are slower than one. `docs/design/busy-machine.md` has the measurements.
"""

import math
import os
import threading
import time
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

import psutil

from rolellm_agents.models.llamacpp.bindings import SPINNING_IS_BOUNDED

_INTERVAL: Final = 0.2
"""Seconds between two measurements of other programs; Linux counts in hundredths of a second."""
_LARGE_STEP: Final = 32
"""Rows from which a step is mostly prefill: its operations are long, and threads seldom wait."""
_SATURATED: Final = 0.8
"""Free processors below which even a single thread shares its processor."""


class Use(NamedTuple):
    """The number of threads of the last step, and the most that are used."""

    threads: int
    most: int

    @property
    def is_reduced(self) -> bool:
        """Whether fewer threads are used because the machine is busy."""
        return self.threads < self.most


class Threads(Protocol):
    """Decides how many threads compute a step."""

    @property
    def use(self) -> Use:
        """The threads of the last step."""

    def for_step(self, rows: int) -> int:
        """The number of threads for a step of `rows` rows."""

    def computed(self, seconds: float) -> None:
        """Report the calling thread's processor time of the step, in seconds."""


class FixedThreads:
    """Always the same number."""

    def __init__(self, count: int) -> None:
        """Use `count` threads."""
        self.use = Use(count, count)

    def for_step(self, rows: int) -> int:
        """See `Threads`."""
        return self.use.threads

    def computed(self, seconds: float) -> None:
        """See `Threads`."""


class AdaptiveThreads:
    """As many threads as other programs leave processors, measured while computing; see `threads_for`.

    The time of other programs is the machine's busy time without ours. Our time is that of the calling
    thread times the number of threads, because all threads of llama.cpp work equally long. A second engine
    in the same process therefore counts as another program, as it should.
    """

    def __init__(self, most: int, busy_seconds: Callable[[], float] | None = None) -> None:
        """Use at most `most` threads.

        Args:
            most: usually the number of processors that this process may use.
            busy_seconds: returns the processor time that all programs together have used so far on these
                processors; `busy_seconds_here` when None.
        """
        self.use = Use(most, most)
        self._processors = _processors()
        self._busy_seconds = busy_seconds or busy_seconds_here
        # Spinning threads lose seconds on a busy machine, so the first steps use a single thread.
        self._free = float(most) if SPINNING_IS_BOUNDED else 1.0
        self._last_measurement: _Moment | None = None
        self._helped = 0.0

    def for_step(self, rows: int) -> int:
        """See `Threads`."""
        most = self.use.most
        if most > 1:
            self._measure()
            can_wait = SPINNING_IS_BOUNDED and rows >= _LARGE_STEP
            self.use = Use(threads_for(most, self._free, can_wait=can_wait), most)
        return self.use.threads

    def computed(self, seconds: float) -> None:
        """See `Threads`."""
        self._helped += seconds * (self.use.threads - 1)

    def _measure(self) -> None:
        """Measure the use of other programs, at most once per interval."""
        # The native id, because Python reuses the ids of ended threads.
        last, thread, clock = self._last_measurement, threading.get_native_id(), time.perf_counter()
        same_thread = last is not None and last.thread == thread
        if same_thread and last is not None and clock - last.clock < _INTERVAL:
            return
        now = _Moment(thread, clock, self._busy_seconds(), time.thread_time())
        if same_thread and last is not None:
            ours = now.worked - last.worked + self._helped
            others = max(0.0, now.busy - last.busy - ours) / (now.clock - last.clock)
            self._free = self._processors - others
        self._last_measurement, self._helped = now, 0.0


class _Moment(NamedTuple):
    """A measurement; times are in seconds."""

    thread: int
    clock: float
    busy: float
    """Processor time of all programs."""
    worked: float
    """Processor time of the measuring thread."""


def threads_for(most: int, free: float, *, can_wait: bool) -> int:
    """The number of threads that compute a step fastest.

    If there are more threads than free processors, one shares a processor with another program, and the
    others wait for it. If waiting costs little, that is still better than one thread on a shared processor.

    Args:
        most: the most threads to use.
        free: the processors that other programs leave, possibly a fraction.
        can_wait: whether waiting for other threads costs little, because the step's operations are long and
            waiting threads sleep.
    """
    if can_wait and free < _SATURATED:
        return most
    return min(most, max(1, math.ceil(free - 0.5)))


def busy_seconds_here() -> float:
    """Seconds of processor time that all programs have used on the processors of this process.

    Programs with a low priority (`nice`) count only if this process has one, too, because otherwise they
    yield to it.
    """
    allowed = _affinity()
    each = psutil.cpu_times(percpu=True)
    polite = hasattr(os, "nice") and os.nice(0) > 0
    return sum(
        times.user
        + times.system
        + getattr(times, "irq", 0.0)
        + getattr(times, "softirq", 0.0)
        + getattr(times, "steal", 0.0)
        + (getattr(times, "nice", 0.0) if polite else 0.0)
        for number, times in enumerate(each)
        if allowed is None or number in allowed
    )


def used_by_others(most: int, seconds: float = 0.3) -> tuple[int, float]:
    """The number of threads that would decode now, and the number of processors that other programs use.

    Args:
        most: the most threads to use.
        seconds: the duration of the measurement.
    """
    busy, worked, clock = busy_seconds_here(), time.process_time(), time.perf_counter()
    time.sleep(seconds)
    ours = time.process_time() - worked
    others = max(0.0, busy_seconds_here() - busy - ours) / (time.perf_counter() - clock)
    return threads_for(most, _processors() - others, can_wait=False), others


def _processors() -> int:
    return len(_affinity() or ()) or os.cpu_count() or 1


def _affinity() -> set[int] | None:
    """The processors' numbers; None on systems without this information."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None

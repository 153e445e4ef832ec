"""How many threads compute a step: all processors when they are free, fewer while other programs use them.

llama.cpp splits every operation evenly between its threads, and all wait at its end for the slowest. A
thread that shares its processor with another program therefore slows all down, and two threads of which
one is always interrupted are slower than one. `docs/design/busy-machine.md` has the measurements.
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
"""Seconds between two looks at what others use; Linux counts in hundredths."""
_LARGE_STEP: Final = 32
"""Rows from which on a step is mostly reading: its operations are long, and threads seldom wait."""
_SATURATED: Final = 0.8
"""Processors left to us below which even a single thread has to share its own."""


class Use(NamedTuple):
    """How many threads computed last, of how many at most."""

    threads: int
    most: int

    @property
    def is_reduced(self) -> bool:
        """Whether the machine was too busy for all of them."""
        return self.threads < self.most


class Threads(Protocol):
    """Decides how many threads compute a step."""

    @property
    def use(self) -> Use:
        """What the last step was computed with."""

    def for_step(self, rows: int) -> int:
        """Threads for a step of so many rows."""

    def computed(self, seconds: float) -> None:
        """The calling thread spent so much processor time on the step."""


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
    """As many as other programs leave processors, measured while computing; see `threads_for`.

    What others use is the machine's busy time without ours. Ours is the calling thread's, times the
    threads that compute beside it: llama.cpp's are all at work for as long. So a second engine in the
    same process counts among the others, as it should.
    """

    def __init__(self, most: int, busy_seconds: Callable[[], float] | None = None) -> None:
        """Use at most `most` threads.

        Args:
            most: usually one for each processor that this process may use.
            busy_seconds: a counter of the processor time that all programs together have used so far on
                these processors; this machine's own when None.
        """
        self.use = Use(most, most)
        self._processors = _processors()
        self._busy_seconds = busy_seconds or busy_seconds_here
        # Threads that spin lose seconds if others compute, so one alone finds out.
        self._free = float(most) if SPINNING_IS_BOUNDED else 1.0
        self._begun: _Moment | None = None
        self._helped = 0.0

    def for_step(self, rows: int) -> int:
        """See `Threads`."""
        most = self.use.most
        if most > 1:
            self._look()
            can_wait = SPINNING_IS_BOUNDED and rows >= _LARGE_STEP
            self.use = Use(threads_for(most, self._free, can_wait=can_wait), most)
        return self.use.threads

    def computed(self, seconds: float) -> None:
        """See `Threads`."""
        self._helped += seconds * (self.use.threads - 1)

    def _look(self) -> None:
        """Measure what others used since the last look, once it is long enough ago."""
        # Python gives the number of a thread that ended to the next one; the system's is another.
        begun, thread, clock = self._begun, threading.get_native_id(), time.perf_counter()
        goes_on = begun is not None and begun.thread == thread
        if goes_on and begun is not None and clock - begun.clock < _INTERVAL:
            return
        now = _Moment(thread, clock, self._busy_seconds(), time.thread_time())
        if goes_on and begun is not None:
            ours = now.worked - begun.worked + self._helped
            others = max(0.0, now.busy - begun.busy - ours) / (now.clock - begun.clock)
            self._free = self._processors - others
        self._begun, self._helped = now, 0.0


class _Moment(NamedTuple):
    """What the clocks say; all in seconds."""

    thread: int
    clock: float
    busy: float
    """Processor time of all programs."""
    worked: float
    """Processor time of the thread that looks."""


def threads_for(most: int, free: float, *, can_wait: bool) -> int:
    """How many threads compute a step soonest.

    A thread more than there are free processors shares one with another program, and all wait for it.
    Where that costs little, it is still better than a single thread on a processor that is shared anyway.

    Args:
        most: threads to be used at most.
        free: processors that other programs leave, which may be a fraction.
        can_wait: whether threads lose little by waiting for each other: the step's operations are long,
            and who waits sleeps.
    """
    if can_wait and free < _SATURATED:
        return most
    return min(most, max(1, math.ceil(free - 0.5)))


def busy_seconds_here() -> float:
    """The processor time that all programs together have used on the processors this process may use.

    Programs that step back (`nice`) do not count, unless this one does too: they get what is left over.
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
    """Threads that would write an answer now, and how many processors other programs use; takes a moment.

    Args:
        most: threads to be used at most.
        seconds: how long to look.
    """
    busy, worked, clock = busy_seconds_here(), time.process_time(), time.perf_counter()
    time.sleep(seconds)
    ours = time.process_time() - worked
    others = max(0.0, busy_seconds_here() - busy - ours) / (time.perf_counter() - clock)
    return threads_for(most, _processors() - others, can_wait=False), others


def _processors() -> int:
    return len(_affinity() or ()) or os.cpu_count() or 1


def _affinity() -> set[int] | None:
    """The processors' numbers; None where the system does not tell."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None

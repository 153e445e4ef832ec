"""Computes a program's speed beside background processes under a fair scheduler; pure functions.

The fair share is the fraction of its unloaded speed that a program keeps if the scheduler gives every
runnable thread the same time. With P processors, T threads of the program and background threads of total
weight B, each thread gets P / (T + B) of a processor, and at most one. The program has at most one thread
for each processor, so without load each thread has its own processor. The fair time is the time without
load divided by the share.

If a program takes longer than the fair time, its threads also wait for each other while one of them is not
running.
"""

_NICE_WEIGHTS = (
    *(1024, 820, 655, 526, 423, 335, 272, 215, 172, 137),
    *(110, 87, 70, 56, 45, 36, 29, 23, 18, 15),
)
"""Linux's weights of threads with nice values 0 to 19 (`sched_prio_to_weight`)."""


def relative_weight(nice: int, own_nice: int = 0) -> float:
    """The weight of a thread relative to a thread of the measured program.

    Args:
        nice: nice value of the thread.
        own_nice: nice value of the measured program.
    """
    return _weight(nice) / _weight(own_nice)


def fair_share(processors: int, threads: int, background: float) -> float:
    """The fraction of its unloaded speed that a program keeps under a fair scheduler.

    Args:
        processors: number of processors.
        threads: number of the program's threads, at most one for each processor.
        background: sum of the `relative_weight` of all background threads, which always compute.
    """
    return min(1.0, processors / (threads + background))


def fair_seconds(alone: float, share: float) -> float:
    """The seconds that a program needs with this share, if it needs `alone` seconds without load."""
    return alone / share


def times_fair(seconds: float, alone: float, share: float) -> float:
    """A measured time as a multiple of the fair time; 1 under a fair scheduler."""
    return seconds / fair_seconds(alone, share)


def _weight(nice: int) -> int:
    # Values below 0 need administrator rights; the table's first weight is an approximation.
    return _NICE_WEIGHTS[max(0, min(nice, len(_NICE_WEIGHTS) - 1))]

"""What a fair scheduler would leave to a program that shares the processors; pure arithmetic.

The fair share of a program is the part of its speed alone that it keeps beside background processes on a
scheduler that gives every runnable thread the same time. With P processors, T threads of the program and
background threads of total weight B, each thread gets P / (T + B) of a processor, and never more than
one. The program has at most as many threads as there are processors, so alone each has a processor of
its own, and the fair time is the time alone divided by the share.

A program that takes longer than the fair time loses to more than the scheduler: its threads wait for each
other while one of them is not running.
"""

_NICE_WEIGHTS = (
    *(1024, 820, 655, 526, 423, 335, 272, 215, 172, 137),
    *(110, 87, 70, 56, 45, 36, 29, 23, 18, 15),
)
"""Linux gives threads of nice 0 to 19 time in these proportions (`sched_prio_to_weight`)."""


def relative_weight(nice: int, own_nice: int = 0) -> float:
    """The weight of a thread, where a thread of the program that is measured weighs 1.

    Args:
        nice: of the thread.
        own_nice: of the program that is measured.
    """
    return _weight(nice) / _weight(own_nice)


def fair_share(processors: int, threads: int, background: float) -> float:
    """The part of its speed alone that a fair scheduler leaves to a program.

    Args:
        processors: how many there are.
        threads: of the program, at most one for each processor.
        background: total weight of the background threads that always compute, `relative_weight` each.
    """
    return min(1.0, processors / (threads + background))


def fair_seconds(alone: float, share: float) -> float:
    """The time that something takes with this share, when it takes `alone` seconds alone."""
    return alone / share


def times_fair(seconds: float, alone: float, share: float) -> float:
    """A measured time as a multiple of the fair time; 1 is what a fair scheduler would give."""
    return seconds / fair_seconds(alone, share)


def _weight(nice: int) -> int:
    # Below 0 only an administrator can go; the table's first value is near enough.
    return _NICE_WEIGHTS[max(0, min(nice, len(_NICE_WEIGHTS) - 1))]

"""Pure functions that summarize measurements beside background processes."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from rolellm_speed.engine.fair_share import fair_seconds, times_fair
from rolellm_speed.engine.load import MachineLoad, disturbance, most


class Beside(NamedTuple):
    """The background load of a measurement."""

    neighbour: str
    """The kind of the processes; empty for none."""
    processes: int

    def __str__(self) -> str:
        """The load in words."""
        return f"{self.processes} {self.neighbour}" if self.processes else "nothing"


ALONE = Beside("", 0)


class Cell(NamedTuple):
    """The key of one figure."""

    beside: Beside
    system: str
    what: str
    """`answer` or `scene`."""


class Measurement(NamedTuple):
    """One measurement."""

    seconds: float | None
    """None when it did not finish in time."""
    before: MachineLoad | None
    during: MachineLoad | None


def report(
    samples: Mapping[Cell, Sequence[Measurement]], shares: Mapping[Beside, float]
) -> list[dict[str, Any]]:
    """Rows for each system and number of background processes.

    Args:
        samples: the measurements of each figure, one for each round.
        shares: the fair share for each load; 1 without background processes.
    """
    rows: dict[tuple[Beside, str], dict[str, Any]] = {}
    for cell in samples:
        row = rows.setdefault(
            (cell.beside, cell.system),
            {
                "system": cell.system,
                "neighbour": cell.beside.neighbour or None,
                "processes": cell.beside.processes,
                "fair_share": round(shares[cell.beside], 3),
            },
        )
        row[cell.what] = _figure(samples[cell], samples[cell._replace(beside=ALONE)], shares[cell.beside])
    return list(rows.values())


def _figure(here: Sequence[Measurement], alone: Sequence[Measurement], share: float) -> dict[str, Any]:
    seconds, base = middle(here), middle(alone)
    why = omission(here, alone)
    return {
        "seconds": seconds,
        "timed_out": seconds is None,
        "fair_seconds": None if base is None else round(fair_seconds(base, share), 3),
        "times_fair": None if why or seconds is None or base is None else _times(seconds, base, share),
        "omitted": why,
        "load": [_load(sample) for sample in here],
    }


def middle(samples: Sequence[Measurement]) -> float | None:
    """The median of the rounds; None if a round did not finish."""
    seconds = [sample.seconds for sample in samples if sample.seconds is not None]
    return round(median(seconds), 3) if seconds and len(seconds) == len(samples) else None


def omission(here: Sequence[Measurement], alone: Sequence[Measurement]) -> str | None:
    """The reason why a figure is not compared with the one without load; None if it is compared."""
    for samples, when in ((here, ""), (alone, " while it was measured alone")):
        if middle(samples) is None:
            return f"it did not finish in time{when}"
        why = disturbance(most(sample.during.others for sample in samples if sample.during))
        if why:
            return f"{why}{when}"
    return None


def time_left(took: Sequence[float], remaining: int) -> float:
    """Estimated seconds of the remaining measurements, from the previous ones; 0 before the first."""
    return sum(took) / len(took) * remaining if took else 0.0


def duration(seconds: float) -> str:
    """A duration in minutes or seconds, as text."""
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def _times(seconds: float, base: float, share: float) -> float:
    return round(times_fair(seconds, base, share), 3)


def _load(sample: Measurement) -> dict[str, Any]:
    return {
        "before": sample.before._asdict() if sample.before else None,
        "during": sample.during._asdict() if sample.during else None,
    }

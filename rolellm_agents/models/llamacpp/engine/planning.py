"""What goes into the next batch: running answers never wait long, and everybody gets on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_WRITERS_A_CHUNK: Final = 4
"""For each so many answers being written another chunk is read beside them: many at once are a crowd, whose
newcomers wait longer for their first word than its writers for their next."""


_PAUSE: Final = 0.25
"""Seconds for which reading may hold up answers that are being written."""
_SMALLEST_CHUNK: Final = 8
_LARGEST_CHUNK: Final = 64
"""Prompt tokens that a step reads beside an answer."""
_LEARNED: Final = 0.3
"""The weight of the newest measurement."""


class ReadingPace:
    """How many prompt tokens a step may read beside an answer, by what reading has cost here so far.

    A small model on a quiet machine reads 64 tokens in a tenth of a second; a large one, or a busy
    machine, takes seconds for as many, during which no answer would go on.
    """

    def __init__(self) -> None:
        """Nothing is measured yet."""
        self._token_seconds = 0.0

    def note(self, rows: int, seconds: float) -> None:
        """Learn what a step took; steps of few rows tell nothing about reading."""
        if rows < _SMALLEST_CHUNK:
            return
        took = seconds / rows
        before = self._token_seconds or took
        self._token_seconds = before + _LEARNED * (took - before)

    @property
    def chunk(self) -> int:
        """Prompt tokens."""
        if not self._token_seconds:
            return _LARGEST_CHUNK
        return max(_SMALLEST_CHUNK, min(_LARGEST_CHUNK, int(_PAUSE / self._token_seconds)))


@dataclass(frozen=True)
class Pending:
    """A job that has tokens to compute."""

    number: int
    """Older jobs have smaller ones."""
    unread: int
    """How many tokens wait; an answer that is being written always has one."""
    adapter: str | None
    urgent: bool
    """Somebody waits for it; the rest is read ahead when nothing else is to do."""
    last_step: int
    """The step in which it was last served."""


def plan(pending: Sequence[Pending], n_batch: int, chunk: int) -> dict[int, int]:
    """Share the next batch out.

    Urgent jobs go first. One batch has one adapter: that of the job served longest ago. Answers being
    written all get their row. The rest of the batch goes to prompts: half of it to the oldest, so that
    nobody starves, and the other half to the shortest, which are done soonest.

    Args:
        pending: jobs with tokens to compute.
        n_batch: how many rows a batch can have; more than there are jobs.
        chunk: how many prompt tokens may be read in a step that keeps a writer, or a newcomer, waiting;
            more where many write.

    Returns:
        Tokens to compute for each job's number; empty when there is nothing to do.
    """
    ready = [job for job in pending if job.urgent] or list(pending)
    if not ready:
        return {}
    adapter = min(ready, key=lambda job: (job.last_step, job.number)).adapter
    group = [job for job in ready if job.adapter == adapter]
    shares = {job.number: 1 for job in group if job.unread == 1}
    room = n_batch - len(shares)
    if not ready[0].urgent or any(job.unread == 1 for job in ready):
        room = min(room, chunk * max(1, len(shares) // _WRITERS_A_CHUNK))
    return shares | _share(sorted((job for job in group if job.unread > 1), key=_age), room)


def _share(readers: Sequence[Pending], room: int) -> dict[int, int]:
    if not readers:
        return {}
    oldest, *others = readers
    wanted_by_others = sum(job.unread for job in others)
    first = min(oldest.unread, max(room - wanted_by_others, (room + 1) // 2))
    shares = {oldest.number: first}
    room -= first
    for job in sorted(others, key=lambda job: job.unread):
        shares[job.number] = min(job.unread, room)
        room -= shares[job.number]
    return {number: count for number, count in shares.items() if count}


def _age(job: Pending) -> int:
    return job.number

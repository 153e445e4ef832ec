"""Continuous batching with chunked prefill: which tokens of which jobs enter the next batch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_DECODES_PER_CHUNK: Final = 4
"""Decoding jobs per prefill chunk. Steps with many decoding jobs prefill several chunks, because otherwise
new prompts would wait too long for their first token."""
_MAX_PREFILL_SECONDS: Final = 0.25
"""The longest time in seconds that a prefill chunk may delay decoding jobs."""
_SMALLEST_CHUNK: Final = 8
_LARGEST_CHUNK: Final = 64
"""Bounds of a prefill chunk in tokens, in a step that also decodes."""
_SMOOTHING: Final = 0.3
"""Weight of the newest measurement in the exponential average."""


class PrefillPace:
    """Adapts the prefill chunk to the measured time per token.

    A small model on an idle machine prefills 64 tokens in 0.1 s. A large model, or a busy machine, takes
    seconds, and no answer would continue meanwhile.
    """

    def __init__(self) -> None:
        """Start without a measurement."""
        self._token_seconds = 0.0

    def update(self, rows: int, seconds: float) -> None:
        """Include a step's duration; steps of few rows are no measure of prefill and are ignored."""
        if rows < _SMALLEST_CHUNK:
            return
        took = seconds / rows
        before = self._token_seconds or took
        self._token_seconds = before + _SMOOTHING * (took - before)

    @property
    def chunk(self) -> int:
        """The current chunk in tokens."""
        if not self._token_seconds:
            return _LARGEST_CHUNK
        return max(_SMALLEST_CHUNK, min(_LARGEST_CHUNK, int(_MAX_PREFILL_SECONDS / self._token_seconds)))


@dataclass(frozen=True)
class Pending:
    """A job that has tokens to compute."""

    number: int
    """Grows with each submitted job."""
    remaining: int
    """Tokens to compute; always 1 while decoding."""
    adapter: str | None
    urgent: bool
    """False for a prefetch, which runs only when no urgent job is pending."""
    last_step: int
    """The last step that computed tokens of it."""


def plan(pending: Sequence[Pending], n_batch: int, chunk: int) -> dict[int, int]:
    """Distribute the rows of the next batch.

    Urgent jobs go first. A batch has one adapter: that of the least recently served job. Each decoding
    job gets its row. The rest of the batch prefills prompts: one half of it the oldest prompt, so that
    none starves, the other half the shortest prompts, which finish soonest.

    Args:
        pending: jobs with tokens to compute.
        n_batch: rows of a batch; more than there are jobs.
        chunk: prefill tokens of a step that also decodes or prefetches; multiplied when many jobs decode.

    Returns:
        The number of tokens to compute, by job number; empty when there is nothing to do.
    """
    ready = [job for job in pending if job.urgent] or list(pending)
    if not ready:
        return {}
    adapter = min(ready, key=lambda job: (job.last_step, job.number)).adapter
    group = [job for job in ready if job.adapter == adapter]
    shares = {job.number: 1 for job in group if job.remaining == 1}
    room = n_batch - len(shares)
    if not ready[0].urgent or any(job.remaining == 1 for job in ready):
        room = min(room, chunk * max(1, len(shares) // _DECODES_PER_CHUNK))
    return shares | _share(sorted((job for job in group if job.remaining > 1), key=_age), room)


def _share(prefills: Sequence[Pending], room: int) -> dict[int, int]:
    if not prefills:
        return {}
    oldest, *others = prefills
    wanted_by_others = sum(job.remaining for job in others)
    first = min(oldest.remaining, max(room - wanted_by_others, (room + 1) // 2))
    shares = {oldest.number: first}
    room -= first
    for job in sorted(others, key=lambda job: job.remaining):
        shares[job.number] = min(job.remaining, room)
        room -= shares[job.number]
    return {number: count for number, count in shares.items() if count}


def _age(job: Pending) -> int:
    return job.number

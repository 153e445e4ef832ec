"""Which sequence a prompt goes into: the longest shared prefix, else the least recently used."""

from collections.abc import Sequence
from dataclasses import dataclass, field

_WORTH_COPYING = 32
"""A shared prefix shorter than this is read again sooner than copied."""
_WORTH_KEEPING = 256
"""A tail up to this length (an answer, say) may go for a prompt that shares what stands before it."""


@dataclass
class Resident:
    """What one sequence of the context holds."""

    sequence: int
    tokens: list[int] = field(default_factory=list)
    adapter: str | None = None
    """The adapter it was computed with (`LlamaModel.load_adapter`); another's states are of no use."""
    last_used: int = 0
    """A count that grows with every use of any sequence."""


@dataclass(frozen=True)
class Placement:
    """Where a prompt goes."""

    sequence: int
    source: int
    """The sequence whose first `shared` tokens serve it; the same one when it goes on there."""
    shared: int
    """How many tokens need not be read."""


def shared_prefix(resident: Resident, tokens: Sequence[int], adapter: str | None) -> int:
    """How many of the first `tokens` the sequence holds, computed with the same adapter."""
    if resident.adapter != adapter:
        return 0
    for place, (held, wanted) in enumerate(zip(resident.tokens, tokens, strict=False)):
        if held != wanted:
            return place
    return min(len(resident.tokens), len(tokens))


def place(
    residents: Sequence[Resident], free: Sequence[Resident], tokens: Sequence[int], adapter: str | None
) -> Placement | None:
    """Choose the sequence for a prompt.

    Args:
        residents: all sequences.
        free: those of them that may be used now; the others can only be copied from.
        tokens: what the sequence will hold; what need not be read is counted among these.
        adapter: what it is computed with.

    Returns:
        The place, or None when no sequence is free.
    """
    if not free:
        return None
    shared = {resident.sequence: shared_prefix(resident, tokens, adapter) for resident in residents}
    here = max(free, key=lambda resident: (shared[resident.sequence], -len(resident.tokens)))
    best = max(shared.values())
    held = shared[here.sequence]
    if held == best and held and len(here.tokens) - held <= _WORTH_KEEPING:
        return Placement(here.sequence, here.sequence, held)
    victim = min(free, key=lambda resident: (bool(resident.tokens), resident.last_used))
    if best < _WORTH_COPYING or shared[victim.sequence] == best:
        return Placement(victim.sequence, victim.sequence, shared[victim.sequence])
    source = next(resident for resident in residents if shared[resident.sequence] == best)
    return Placement(victim.sequence, source.sequence, best)

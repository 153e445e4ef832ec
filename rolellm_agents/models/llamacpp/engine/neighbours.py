"""Which sequences to move so that those that run have neighbouring slots.

llama.cpp computes a batch in groups of neighbouring slots, and reads all weights for each group.
"""

from collections.abc import Collection
from typing import Final, NamedTuple

MOST_GROUPS: Final = 2
"""Sequences stay where they are as long as they are in so many groups, because a move takes time, too."""


class Move(NamedTuple):
    """A sequence that runs gets another slot, whose holder gets its former one."""

    source: int
    target: int


def groups(slots: Collection[int]) -> int:
    """The number of groups of neighbours among these slots."""
    return sum(slot - 1 not in slots for slot in slots)


def moves_together(running: Collection[int], slots: int) -> list[Move]:
    """The fewest moves after which all sequences that run are neighbours; none if they are in few groups.

    Args:
        running: the slots of the sequences that run.
        slots: the number of slots.
    """
    if groups(running) <= MOST_GROUPS:
        return []
    count = len(running)
    starts = range(slots - count + 1)
    start = max(starts, key=lambda first: sum(first <= slot < first + count for slot in running))
    window = range(start, start + count)
    outside = sorted(slot for slot in running if slot not in window)
    holes = [slot for slot in window if slot not in running]
    return [Move(source, target) for source, target in zip(outside, holes, strict=True)]

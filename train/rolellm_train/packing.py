"""Put rows that begin alike into one sequence, so that their common beginning is computed once.

All rows of a character begin with the same instruction, which is often longer than its questions and
answers. A pack holds trees: a beginning, and branches that each see the beginning and themselves, at the
positions they would have alone. What the model computes for a branch is what it computes for the row by
itself (`tests/train/test_packing.py` holds it to that); `docs/design/training.md` has the figures.
"""

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from rolellm_train.encoding import Encoded


@dataclass(frozen=True, slots=True)
class Tree:
    """Rows of one group over their common beginning."""

    shared: int
    """How many tokens all rows begin with alike; at most up to the answer of any."""
    rows: tuple[Encoded, ...]

    def __len__(self) -> int:
        """Tokens to compute."""
        return self.shared + sum(len(row.ids) - self.shared for row in self.rows)


@dataclass(frozen=True, slots=True)
class Pack:
    """One sequence of the batch."""

    trees: tuple[Tree, ...]

    def __len__(self) -> int:
        """Tokens to compute."""
        return sum(map(len, self.trees))


def pack(rows: Iterable[Encoded], size: int, *, seed: int) -> list[Pack]:
    """Lay rows into packs, group after group in a random order, so that little room is left.

    Args:
        rows: none longer than `size`.
        size: tokens of a pack at most.
        seed: of the order.

    Raises:
        ValueError: a row does not fit.
    """
    drawn = random.Random(seed)  # noqa: S311  # no secret
    by_name: defaultdict[str, list[Encoded]] = defaultdict(list)
    for row in rows:
        by_name[row.group].append(row)
        if len(row.ids) > size:
            raise ValueError(f"a row of {len(row.ids)} tokens does not fit into {size}")
    groups = [*by_name.values()]
    drawn.shuffle(groups)
    packs: list[list[Tree]] = [[]]
    room = size
    for group in groups:
        drawn.shuffle(group)
        shared = shared_beginning(group)
        left = group
        while left:
            taken, left = _fitting(left, shared, room)
            if taken:
                tree = Tree(shared, tuple(taken))
                packs[-1].append(tree)
                room -= len(tree)
            if left:
                packs.append([])
                room = size
    whole = [Pack(tuple(trees)) for trees in packs if trees]
    drawn.shuffle(whole)
    return whole


def shared_beginning(rows: Sequence[Encoded]) -> int:
    """How many tokens all begin with alike, up to the one that their first answers begin after."""
    prompts = [row.ids[: row.answers[0].start - 1] for row in rows]
    # What the first and the last in order have alike, all between them have, too.
    first, last = min(prompts), max(prompts)
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return sum(1 for _ in alike) if len(rows) > 1 else 0


def _fitting(rows: Sequence[Encoded], shared: int, room: int) -> tuple[list[Encoded], list[Encoded]]:
    """The rows that fit into the room, one after the other, over their beginning; and the others."""
    taken: list[Encoded] = []
    left: list[Encoded] = []
    room -= shared
    for row in rows:
        if (own := len(row.ids) - shared) <= room:
            taken.append(row)
            room -= own
        else:
            left.append(row)
    return taken, left

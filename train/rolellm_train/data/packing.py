"""Pack rows with a common prefix into one sequence, so that the prefix is computed once.

All rows of a character begin with the same instruction, which is often longer than its questions and
answers. A pack consists of trees. Each tree has a common prefix and branches; a branch attends to the
prefix and to itself, at the positions that the row has alone. So the model computes the same for a branch
as for the single row, which `tests/train/test_packing.py` checks. `docs/design/training.md` has the
figures.
"""

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from rolellm_train.data.encoding import Encoded

Bundle = Sequence[Encoded]
"""Rows of one group that must share a pack."""


@dataclass(frozen=True, slots=True)
class PrefixTree:
    """Rows of one group over their common prefix."""

    shared: int
    """Length of the common prefix in tokens; it ends before any answer."""
    rows: tuple[Encoded, ...]

    def __len__(self) -> int:
        """Tokens to compute."""
        return self.shared + sum(len(row.ids) - self.shared for row in self.rows)


@dataclass(frozen=True, slots=True)
class PackedSequence:
    """One sequence of the batch."""

    trees: tuple[PrefixTree, ...]

    def __len__(self) -> int:
        """Tokens to compute."""
        return sum(map(len, self.trees))


def pack(rows: Iterable[Encoded], size: int, *, seed: int) -> list[PackedSequence]:
    """Pack rows densely, group by group in a random order.

    No row may be longer than `size`, the maximum number of tokens per pack. The seed shuffles the groups.

    Raises:
        ValueError: a row does not fit.
    """
    return pack_together(((row,) for row in rows), size, seed=seed)


def pack_together(bundles: Iterable[Bundle], size: int, *, seed: int) -> list[PackedSequence]:
    """Like `pack`, but rows of a bundle stay together in one tree.

    Args:
        bundles: rows of one group each, with at most `size` tokens including their common prefix.
        size: the maximum number of tokens per pack.
        seed: the seed for shuffling the groups.

    Raises:
        ValueError: a bundle does not fit.
    """
    rng = random.Random(seed)  # noqa: S311  # no secret
    by_name: defaultdict[str, list[Bundle]] = defaultdict(list)
    for bundle in bundles:
        by_name[bundle[0].group].append(bundle)
    groups = [*by_name.values()]
    rng.shuffle(groups)
    packs: list[list[PrefixTree]] = [[]]
    room = size
    for group in groups:
        rng.shuffle(group)
        shared = shared_beginning([row for bundle in group for row in bundle])
        _check_fit(group, shared, size)
        remaining = group
        while remaining:
            taken, remaining = _fitting(remaining, shared, room)
            if taken:
                tree = PrefixTree(shared, tuple(row for bundle in taken for row in bundle))
                packs[-1].append(tree)
                room -= len(tree)
            if remaining:
                packs.append([])
                room = size
    sequences = [PackedSequence(tuple(trees)) for trees in packs if trees]
    rng.shuffle(sequences)
    return sequences


def shared_beginning(rows: Sequence[Encoded]) -> int:
    """The length of the common prefix in tokens, at most up to the first answer."""
    prompts = [row.ids[: row.answers[0].start - 1] for row in rows]
    # In sorted order, the common prefix of the first and the last row is common to all rows.
    first, last = min(prompts), max(prompts)
    common = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return sum(1 for _ in common) if len(rows) > 1 else 0


def _check_fit(group: Iterable[Bundle], shared: int, size: int) -> None:
    largest = max(group, key=lambda bundle: _own(bundle, shared))
    if (tokens := shared + _own(largest, shared)) > size:
        subject = f"a row of {tokens} tokens does" if len(largest) == 1 else f"rows of {tokens} tokens do"
        raise ValueError(f"{subject} not fit into {size}")


def _own(bundle: Bundle, shared: int) -> int:
    """Tokens of a bundle after the shared prefix."""
    return sum(len(row.ids) - shared for row in bundle)


def _fitting(bundles: Sequence[Bundle], shared: int, room: int) -> tuple[list[Bundle], list[Bundle]]:
    """The bundles that fit over their prefix, and the rest."""
    taken: list[Bundle] = []
    remaining: list[Bundle] = []
    room -= shared
    for bundle in bundles:
        if (own := _own(bundle, shared)) <= room:
            taken.append(bundle)
            room -= own
        else:
            remaining.append(bundle)
    return taken, remaining

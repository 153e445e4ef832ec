"""Isotonic regression: the closest fit that never falls (Barlow et al., 1972).

Implemented here because scikit-learn and scipy are large and used for nothing else.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

Knot = tuple[float, float]


@dataclass(frozen=True)
class IsotonicCurve:
    """A function that never falls: linear between its knots, constant outside of them."""

    knots: tuple[Knot, ...]
    """Points `(x, y)` with rising `x`; at least one."""

    def __post_init__(self) -> None:
        """Check the knots.

        Raises:
            ValueError: there is no knot, or the knots do not rise.
        """
        if not self.knots:
            raise ValueError("a curve without knots")
        if any(left[0] >= right[0] or left[1] > right[1] for left, right in pairwise(self.knots)):
            raise ValueError("the knots of a curve do not rise")

    def __call__(self, x: float) -> float:
        """The value at `x`."""
        after = bisect_right(self.knots, x, key=lambda knot: knot[0])
        if after == 0:
            return self.knots[0][1]
        if after == len(self.knots):
            return self.knots[-1][1]
        (x0, y0), (x1, y1) = self.knots[after - 1 : after + 1]
        return y0 + (y1 - y0) * (x - x0) / (x1 - x0)


@dataclass
class _Block:
    first: float
    last: float
    mean: float
    weight: int


def isotonic_curve(pairs: Sequence[tuple[float, float]]) -> IsotonicCurve:
    """Fit the curve with the least squared error to pairs `(x, y)`; at least one (pool adjacent violators).

    Raises:
        ValueError: there is no pair.
    """
    by_x: defaultdict[float, list[float]] = defaultdict(list)
    for x, y in pairs:
        by_x[x].append(y)
    blocks: list[_Block] = []
    for x in sorted(by_x):
        ys = by_x[x]
        blocks.append(_Block(x, x, sum(ys) / len(ys), len(ys)))
        while len(blocks) > 1 and blocks[-2].mean >= blocks[-1].mean:
            _pool(blocks)
    return IsotonicCurve(tuple(knot for block in blocks for knot in _ends(block)))


def _pool(blocks: list[_Block]) -> None:
    """Replace the last two blocks by one with their mean."""
    right, left = blocks.pop(), blocks.pop()
    weight = left.weight + right.weight
    mean = (left.mean * left.weight + right.mean * right.weight) / weight
    blocks.append(_Block(left.first, right.last, mean, weight))


def _ends(block: _Block) -> tuple[Knot, ...]:
    first = (block.first, block.mean)
    return (first,) if block.first == block.last else (first, (block.last, block.mean))


def held_out_values(
    pairs: Sequence[tuple[float, float]], clusters: Sequence[str], folds: int = 10
) -> list[float]:
    """The value of each pair's `x` on a curve that was fitted without the pair's cluster.

    Clusters are distributed over at most `folds` folds. If all pairs are in one cluster, each is a cluster
    of its own.

    Args:
        pairs: at least two.
        clusters: the cluster of each pair, such as the persona that replied.
        folds: the number of folds; at least two.

    Raises:
        ValueError: there are fewer than two pairs.
    """
    if len(pairs) < 2:
        raise ValueError("held-out values of fewer than two pairs")
    if len(set(clusters)) == 1:
        clusters = [f"{number:09}" for number in range(len(pairs))]
    fold_of = {name: number % folds for number, name in enumerate(sorted(set(clusters)))}
    fold_by_pair = [fold_of[name] for name in clusters]
    curves = {
        fold: isotonic_curve(
            [pair for pair, other in zip(pairs, fold_by_pair, strict=True) if other != fold]
        )
        for fold in set(fold_by_pair)
    }
    return [curves[fold](x) for (x, _), fold in zip(pairs, fold_by_pair, strict=True)]

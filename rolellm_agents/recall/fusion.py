"""Fuse several rankings by rank (Cormack, Clarke & Büttcher 2009: reciprocal rank fusion)."""

from collections.abc import Sequence

from rolellm_agents.recall.index import Hit, Index

_K = 10
"""The smoothing constant. The authors use 60 for rankings of 1,000; ours have tens."""
_DEPTH = 50
"""The least number of ranks taken from each index."""


class FusedIndex:
    """The fused rankings of several indexes over the same passages."""

    def __init__(self, indexes: Sequence[Index]) -> None:
        """Combine these indexes."""
        self._indexes = list(indexes)

    def search(self, query: str, k: int) -> list[Hit]:
        """The `k` passages with the highest sums of `1 / (10 + rank)`; near if near in any index."""
        if k <= 0:
            return []
        rankings = [index.search(query, max(k, _DEPTH)) for index in self._indexes]
        found: dict[str, list[tuple[int, Hit]]] = {}
        for ranking in rankings:
            # Of passages with equal texts only the first counts.
            first = {hit.passage.id: (rank, hit) for rank, hit in reversed(list(enumerate(ranking, 1)))}
            for passage, ranked in first.items():
                found.setdefault(passage, []).append(ranked)
        fused = (_fuse(ranked) for ranked in found.values())
        return sorted(fused, key=lambda hit: (-hit.score, hit.passage.source, hit.passage.id))[:k]


def _fuse(ranked: Sequence[tuple[int, Hit]]) -> Hit:
    hits = [hit for _, hit in ranked]
    return Hit(
        hits[0].passage,
        round(sum(1 / (_K + rank) for rank, _ in ranked), 6),
        max(hit.closeness for hit in hits),
        any(hit.is_near for hit in hits),
        "; ".join(f"{hit.why} (rank {rank})" for rank, hit in ranked),
    )

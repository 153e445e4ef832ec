"""Find questions that mean the same in other words, by the similarity of their embeddings."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from rolellm_agents.datasets.near_duplicates import NearDuplicate

PARAPHRASE: Final = 0.9
"""The least cosine similarity of two paraphrases, for all-MiniLM-L6-v2.

Of pairs of RoleBench's questions above it, nearly all ask the same; below it, many ask different things
about one person or event (docs/design/dataset.md).
"""
_BLOCK: Final = 1_000

Paraphrases: TypeAlias = Callable[[Sequence[str]], Iterator[NearDuplicate]]
"""Takes texts, and yields each pair of paraphrases once."""


def paraphrases(
    texts: Sequence[str], embed: Callable[[list[str]], list[list[float]]], *, at_least: float = PARAPHRASE
) -> Iterator[NearDuplicate]:
    """Yield each pair of texts with similar embeddings once, in order.

    Args:
        texts: texts in any language that the embeddings support.
        embed: embeds texts, in vectors of any length.
        at_least: the least cosine similarity, up to 1.
    """
    import numpy as np

    if len(texts) < 2:
        return
    embedded = np.asarray(embed(list(texts)), dtype=np.float32)
    lengths = np.linalg.norm(embedded, axis=1, keepdims=True)
    vectors = embedded / np.where(lengths == 0, 1, lengths)
    # In blocks, so that the memory grows with the number of texts and not of pairs.
    for start in range(0, len(texts), _BLOCK):
        likeness = vectors[start : start + _BLOCK] @ vectors.T
        for row, column in np.argwhere(likeness >= at_least).tolist():
            if start + row < column:
                yield NearDuplicate(start + row, column, float(likeness[row, column]))

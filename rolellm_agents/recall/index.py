"""The interface of an index: hits for a query, best first."""

from dataclasses import dataclass
from typing import Protocol

from rolellm_agents.recall.passages import Passage


@dataclass(frozen=True)
class Hit:
    """A passage that was found."""

    passage: Passage
    score: float
    """The score of the search method; higher is nearer."""
    closeness: float
    """Similarity from 0 (nothing in common) to 1."""
    is_near: bool
    """Whether the closeness reaches the floor below which a passage is only noise."""
    why: str
    """The reason for the hit, in a few words."""


class Index(Protocol):
    """Passages that can be searched."""

    def search(self, query: str, k: int) -> list[Hit]:
        """The `k` nearest passages at any distance, best first; fewer only if the index has fewer.

        Raises:
            StorageError: the store cannot be read.
            ModelError: the embeddings cannot be computed.
        """

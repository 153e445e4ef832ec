"""Find passages by BM25: by the words they share with a line, as RoleGPT does (arXiv 2310.00746, §3.2)."""

import logging
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from rolellm_agents.recall.index import Hit
from rolellm_agents.recall.passages import Passage
from rolellm_agents.text.language import Language
from rolellm_agents.text.words import weight, words_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FLOOR = 0.15
"""Least share of the weight of a line's words that a relevant passage must contain."""

_SHOWN_WORDS = 3


class Bm25Index:
    """BM25 over passages, in memory."""

    def __init__(
        self, passages: Sequence[Passage], language: Language, *, floor: float | None = None
    ) -> None:
        """Index the passages.

        Args:
            passages: the passages to search; equal texts stay separate.
            language: decides how text is cut into words.
            floor: the closeness below which a passage counts as irrelevant; `FLOOR` when None.
        """
        self._passages = list(passages)
        self._language = language
        self._floor = FLOOR if floor is None else floor
        self._bm25 = _Bm25([words_of(passage.text, language) for passage in passages])

    def search(self, query: str, k: int) -> list[Hit]:
        """The `k` nearest passages, best first; those without a shared word come last, in their order."""
        words = words_of(query, self._language)
        if k <= 0 or not self._passages:
            return []
        scores = self._bm25.scores(words)
        # Squared, as in the cosine of two texts: a rare word counts more than many common ones.
        weights = {word: weight(word, self._language) ** 2 for word in words}
        return [self._hit(place, float(scores[place]), weights) for place in _best(scores, k)]

    def _hit(self, place: int, score: float, weights: dict[str, float]) -> Hit:
        passage = self._passages[place]
        # The shared words are computed for the few hits only, instead of kept for all passages.
        present = set(words_of(passage.text, self._language)) if score > 0 else set()
        shared = sorted((word for word in weights if word in present), key=lambda word: -weights[word])
        total = sum(weights.values())
        closeness = round(sum(weights[word] for word in shared) / total, 4) if total else 0.0
        why = "shares " + ", ".join(f"“{word}”" for word in shared[:_SHOWN_WORDS])
        return Hit(
            passage,
            round(score, 4),
            closeness,
            closeness >= self._floor,
            why if shared else "shares no word",
        )


def _best(scores: "NDArray[np.float32]", k: int) -> list[int]:
    """The indices of the `k` highest scores, ties in their order."""
    import numpy as np

    if k >= len(scores):
        return [int(place) for place in np.argsort(-scores, kind="stable")]
    least = np.partition(scores, len(scores) - k)[len(scores) - k]
    above = np.flatnonzero(scores > least)
    above = above[np.argsort(-scores[above], kind="stable")]
    equal = np.flatnonzero(scores == least)[: k - len(above)]
    return [int(place) for place in (*above, *equal)]


@cache
def _quiet() -> None:
    """Let bm25s log no less than warnings, once; it sets its logger's level to DEBUG when it is imported.

    An application that sets up logging would show a line for each index.
    """
    logging.getLogger("bm25s").setLevel(logging.WARNING)


class _Bm25:
    """bm25s over lists of words; hides its vocabulary of ids."""

    def __init__(self, documents: list[list[str]]) -> None:
        # The import loads numpy; commands that never search should not pay for that.
        import bm25s

        _quiet()
        self._documents = len(documents)
        self._model = bm25s.BM25()
        if any(documents):
            self._model.index(documents, show_progress=False)

    def scores(self, query: list[str]) -> "NDArray[np.float32]":
        import numpy as np

        known = [word for word in query if word in getattr(self._model, "vocab_dict", {})]
        if not known:
            return np.zeros(self._documents, dtype=np.float32)
        scores: NDArray[np.float32] = self._model.get_scores(known)
        return scores

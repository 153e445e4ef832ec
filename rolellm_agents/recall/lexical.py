"""`lexical`: word vectors that need no model and no download.

Feature hashing (Weinberger et al. 2009, arXiv 0902.2206): each word, and with less weight each run of four
letters in it, is hashed to a dimension and a sign, weighted by the word's rarity. Inflected forms of
a word are near each other; synonyms are not.
"""

import math
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from langchain_core.embeddings import Embeddings

from rolellm_agents.text.words import language_of, weight, words_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

VERSION = "1"
"""Vectors of another version cannot be compared with these."""

DIMENSIONS = 1024
_RUN = 4
_SHARE_OF_RUNS = 0.7


class LexicalEmbeddings(Embeddings):
    """LangChain embeddings; each vector has length 1, or is zero for a text without words."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """A vector of `DIMENSIONS` for each text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """A vector of `DIMENSIONS`."""
        vector: list[float] = _vector(text).tolist()
        return vector


def _vector(text: str) -> "NDArray[np.float32]":
    import numpy as np

    language = language_of(text)
    vector = np.zeros(DIMENSIONS, dtype=np.float32)
    for word, times in Counter(words_of(text, language)).items():
        amount = weight(word, language) * (1 + math.log(times))
        _add(vector, f"w{word}", amount)
        runs = list(_runs(word))
        for run in runs:
            _add(vector, f"r{run}", _SHARE_OF_RUNS * amount / math.sqrt(len(runs)))
    length = float(np.linalg.norm(vector))
    return vector / length if length else vector


def _runs(word: str) -> Iterator[str]:
    """The runs of letters of a word with marked ends; of a Chinese word, its characters."""
    if language_of(word) == "zh":
        yield from word if len(word) > 1 else ""
        return
    marked = f"^{word}$"
    yield from (marked[at : at + _RUN] for at in range(max(1, len(marked) - _RUN + 1)))


def _add(vector: "NDArray[np.float32]", feature: str, amount: float) -> None:
    hashed = zlib.crc32(feature.encode("utf-8", "surrogatepass"))
    vector[hashed % DIMENSIONS] += amount if hashed >> 20 & 1 else -amount

"""Split text into words for lexical search, and weight the words."""

import json
import math
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from rolellm_agents.text import replace_surrogates
from rolellm_agents.text.language import Language

_WORD = re.compile(r"\w+", re.UNICODE)
_HAN = re.compile(r"[\u3400-\u9fff]")


def words_of(text: str, language: Language) -> list[str]:
    """The words of `text` in lower case, without stop words in English, segmented by rjieba in Chinese."""
    return _CUTTERS[language](text)


def language_of(text: str) -> Language:
    """`zh` if the text contains a Chinese character, otherwise `en`."""
    return "zh" if _HAN.search(text) else "en"


def weight(word: str, language: Language) -> float:
    """The inverse document frequency of a word, in BM25's form.

    The counts come from the replies and the knowledge of the bundled cast (`word_counts.json`), so that the
    weight is the same for every persona and every store. A missing word counts as occurring once.
    """
    documents, counts = _counts(language)
    having = counts.get(word, 1)
    return math.log(1 + (documents - having + 0.5) / (having + 0.5))


class _Counts(NamedTuple):
    documents: int
    having: Mapping[str, int]


@cache
def _counts(language: Language) -> _Counts:
    content = json.loads((files(__package__) / "word_counts.json").read_text(encoding="utf-8"))
    return _Counts(content[language]["documents"], content[language]["having"])


def _english(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower()) if word not in _stopwords()]


@cache
def _stopwords() -> frozenset[str]:
    # The import loads numpy; commands that never search should not pay for that.
    from bm25s.stopwords import STOPWORDS_EN_PLUS

    return frozenset(STOPWORDS_EN_PLUS)


def _chinese(text: str) -> list[str]:
    # The dictionary takes time to load, so it is imported only when needed.
    import rjieba

    return [word for word in rjieba.cut_for_search(replace_surrogates(text).lower()) if _WORD.search(word)]


_CUTTERS: dict[Language, Callable[[str], list[str]]] = {"en": _english, "zh": _chinese}

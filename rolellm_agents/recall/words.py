"""Cut text into the words that lexical search compares."""

import re
from collections.abc import Callable

from rolellm_agents.persona import Language

_WORD = re.compile(r"\w+", re.UNICODE)


def words_of(text: str, language: Language) -> list[str]:
    """The words of `text` in lower case: by word borders in English, segmented in Chinese."""
    return _CUTTERS[language](text)


def _english(text: str) -> list[str]:
    # It brings numpy; commands that never search should not pay for that.
    from bm25s.stopwords import STOPWORDS_EN

    return [word for word in _WORD.findall(text.lower()) if word not in STOPWORDS_EN]


def _chinese(text: str) -> list[str]:
    # The dictionary takes a moment to load, so only those who need it wait for it.
    import rjieba

    return [word for word in rjieba.cut_for_search(text.lower()) if _WORD.search(word)]


_CUTTERS: dict[Language, Callable[[str], list[str]]] = {"en": _english, "zh": _chinese}

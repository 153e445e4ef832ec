"""Cut text into the words that lexical search compares."""

import re
from collections.abc import Callable

from rolellm_agents.persona import Language

_WORD = re.compile(r"\w+", re.UNICODE)

# English words that say nothing about what a line is about; Lucene's list and the pronouns of talk.
_EMPTY_WORDS = frozenset(
    "a an and are as at be but by can could did do does for from had has have how i if in into is it "
    "its me my no not of on or our s shall she should so such t that the their them then there these "
    "they this to was we were what when where which who why will with would you your yours".split()
)


def words_of(text: str, language: Language) -> list[str]:
    """The words of `text` in lower case: by word borders in English, segmented in Chinese."""
    return _CUTTERS[language](text)


def _english(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower()) if word not in _EMPTY_WORDS]


def _chinese(text: str) -> list[str]:
    # The dictionary takes a moment to load, so only those who need it wait for it.
    import rjieba  # noqa: PLC0415

    return [word for word in rjieba.cut_for_search(text.lower()) if _WORD.search(word)]


_CUTTERS: dict[Language, Callable[[str], list[str]]] = {"en": _english, "zh": _chinese}

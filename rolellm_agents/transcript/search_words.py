"""Words, queries, hits and snippets of the search in conversations.

The same functions split messages and queries into words, so the index and the hits cannot disagree.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import regex

from rolellm_agents.text import plain

_WITHOUT_SPACES = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
"""Scripts without spaces between words, or, such as Korean, with endings attached to words."""
_WORD = regex.compile(
    rf"[{_WITHOUT_SPACES}]\p{{M}}*|[[\p{{L}}\p{{M}}\p{{N}}]--[{_WITHOUT_SPACES}]]+", regex.VERSION1
)
_LATIN_WORD = re.compile(r"[^\W_]+")
"""An equivalent, much faster pattern for texts without combining marks and these scripts."""
_BEYOND_LATIN = re.compile("[\u0300-\u1fff\u2070-\U0010ffff]")
_LONGEST_WORD = 64
"""Characters of a word that are compared; the rest of a longer word is ignored."""
_ASCII_WORD = re.compile(rf"([a-z0-9]{{1,{_LONGEST_WORD}}})[a-z0-9]*")
_QUOTES = '"“”„«»'
_PART = regex.compile(rf"[{_QUOTES}]([^{_QUOTES}]*)(?:[{_QUOTES}](\*?)|$)|([^\s{_QUOTES}]+)")
_SPACE = regex.compile(r"\s")
_SNIPPET = 120
_BEFORE_THE_HIT = 40


@dataclass(frozen=True)
class SearchTerm:
    """A word or phrase of a query: words that must follow each other."""

    keys: tuple[str, ...]
    prefix: bool
    """Whether the last word may continue."""

    @property
    def as_line(self) -> str:
        """The phrase as a substring of a text's keys, joined and enclosed by spaces."""
        return f" {' '.join(self.keys)}{'' if self.prefix else ' '}"


def keys_of(text: str) -> list[str]:
    """The normalized words of a `plain` text, in order.

    In scripts without spaces each character is a word, so that every part of a sentence can be found.
    Case, accents, and full or half width are ignored.
    """
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    return [key for key in map(_key_of, _pattern_for(text).findall(text)) if key]


def index_of(text: str) -> str:
    """The distinct words of a message, separated by spaces, for the index."""
    return " ".join(dict.fromkeys(keys_of(plain(text))))


def read_query(query: str) -> list[SearchTerm]:
    """Parse a query of words, "quoted phrases" and prefixes*.

    Several words without spaces between them are also a phrase: `don't`, or a Chinese word. Parts without
    letters and digits are ignored.
    """
    sought = []
    for part in _PART.finditer(plain(query)):
        quoted, star, bare = part.groups()
        keys = tuple(keys_of(bare if quoted is None else quoted))
        if keys:
            sought.append(SearchTerm(keys, bool(star) if bare is None else bare.endswith("*")))
    return sought


def hits_of(sought: Sequence[SearchTerm], text: str) -> list[tuple[int, int]]:
    """The hits in a `plain` text, sorted and without overlaps; empty unless the text contains all terms."""
    keys = keys_of(text)
    line = f" {' '.join(keys)} "
    if not all(phrase.as_line in line for phrase in sought):
        return []
    places = [word.span() for word in _pattern_for(text).finditer(text) if _key_of(word.group())]
    hits = [
        (places[at][0], places[at + len(phrase.keys) - 1][1])
        for phrase in sought
        for at in _places_of(phrase, keys)
    ]
    return _apart(sorted(hits))


def snippet_of(text: str, hits: Sequence[tuple[int, int]]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """One line around the first hit of a `plain` text, and the positions of the hits in it."""
    line = _SPACE.sub(" ", text)
    start = max(0, min(hits[0][0] - _BEFORE_THE_HIT, len(line) - _SNIPPET))
    if start:
        # Start at the beginning of a word, if one begins before the hit.
        start = line.find(" ", start, hits[0][0]) + 1 or start
    end = min(len(line), start + _SNIPPET)
    before, after = "…" if start else "", "…" if end < len(line) else ""
    shift = len(before) - start
    shown = tuple((first + shift, min(last, end) + shift) for first, last in hits if start <= first < end)
    return f"{before}{line[start:end]}{after}", shown


def _pattern_for(text: str) -> "re.Pattern[str] | regex.Pattern[str]":
    return _WORD if _BEYOND_LATIN.search(text) else _LATIN_WORD


@lru_cache(maxsize=16_384)
def _key_of(word: str) -> str:
    word = word[:_LONGEST_WORD]
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word).casefold()
    return "".join(filter(_counts, decomposed))[:_LONGEST_WORD]


def _counts(character: str) -> bool:
    """Whether a character is compared: letters, digits, and marks such as vowels, but not accents."""
    if "\u0300" <= character <= "\u036f":
        return False
    return character.isalnum() or (not character.isascii() and unicodedata.category(character)[0] == "M")


def _places_of(sought: SearchTerm, keys: Sequence[str]) -> Iterator[int]:
    """The indices of a text's words at which the phrase begins."""
    *firsts, last = sought.keys
    for end, key in enumerate(keys[len(firsts) :], len(firsts)):
        fits = key.startswith(last) if sought.prefix else key == last
        if fits and keys[end - len(firsts) : end] == firsts:
            yield end - len(firsts)


def _apart(hits: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge overlapping hits."""
    apart: list[tuple[int, int]] = []
    for start, end in hits:
        if apart and start < apart[-1][1]:
            apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
        else:
            apart.append((start, end))
    return apart

r"""Keys of lorebook entries: what a key is, and finding all plain keys of many entries in one pass.

A key is a regular expression only when it has the shape `/…/flags` with its inner slashes escaped; else it
is plain text. Expressions come from strangers, and are searched with a limit of time.

Whole words: a key of several words is looked for as it stands. A key of one word must have no letter, digit
or underscore beside it. Scripts that join words without spaces have no word borders: there a key is found
inside longer text too, and such a character beside a key is a border.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

import regex
from ahocorasick_rs import AhoCorasick

from rolellm_agents.cards.lore.js_regex import compile_translated, translate

Fault = Literal["bad_regex", "regex_timeout"]

HEAD = 12
"""Characters of a key that the automaton knows. Whole keys, each inside the next, would let a hostile book
match thousands of times at every character."""

_SLICE = 65_536

_WORD_CHARACTER = (
    r"[^\W\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
)
"""What belongs to a word, in scripts that have words. Korean has spaces, but particles cling to nouns."""
WORD = regex.compile(f"{_WORD_CHARACTER}+")
_UNSPACED = regex.compile(r"\w")
"""Asked of what is no word character."""

MOST_PLACES = 1_000
"""How many occurrences of one key are tried for being a whole word, before it counts as none."""


@dataclass(frozen=True, slots=True)
class LoreKey:
    """One key, its macros replaced."""

    text: str
    """As it stands, without blanks around it."""
    folded: str = ""
    """Without case; empty for a regular expression."""
    head: str = ""
    """The part of it that the automaton looks for; empty for a regular expression."""
    source: str | None = None
    """What stands between the slashes; None for plain text."""
    flags: str = ""


class Matching(NamedTuple):
    """How plain keys are compared."""

    case_sensitive: bool
    whole_words: bool


def fold(text: str) -> str:
    """Text without case, in which upper and lower case of any script agree."""
    folded = text.casefold()
    if folded.isascii():
        return folded
    # A lone half of a surrogate pair, which JSON can hold, is no text to the automaton.
    return folded.encode("utf-8", "backslashreplace").decode()


_REGEX_SHAPE = re.compile(r"/((?:[^/\\]|\\.)+)/([gimsuy]*)", re.DOTALL)


@lru_cache(maxsize=1 << 16)
def parse_key(text: str) -> LoreKey | None:
    """A key out of its text; None when there is nothing to look for."""
    text = text.strip()
    if not text:
        return None
    shape = _REGEX_SHAPE.fullmatch(text)
    if shape:
        return LoreKey(text, source=shape[1], flags=shape[2])
    folded = fold(text)
    return LoreKey(text, folded, folded[:HEAD])


class KeyIndex:
    """The heads of many plain keys, found in a text in one pass."""

    def __init__(self, heads: frozenset[str]) -> None:
        self._automaton = AhoCorasick(heads)

    def heads_in(self, folded: str) -> set[str]:
        """Those heads that occur in a text, which comes from `fold`."""
        found: set[str] = set()
        for start in range(0, len(folded), _SLICE):  # so that the list of all occurrences stays small
            part = folded[start : start + _SLICE + HEAD - 1]
            found.update(self._automaton.find_matches_as_strings(part, overlapping=True))
        return found


@lru_cache(maxsize=4)
def key_index(heads: frozenset[str]) -> KeyIndex:
    """The index of these heads, kept for the next message of the same chat."""
    return KeyIndex(heads)


class SearchedText:
    """A text in which plain keys are looked for."""

    def __init__(self, text: str) -> None:
        self.raw = text
        self.folded = fold(text)
        self._words: dict[bool, frozenset[str]] = {}

    def has(self, key: LoreKey, matching: Matching) -> bool:
        """Whether a plain key stands in the text."""
        exact = matching.case_sensitive
        text, wanted = (self.raw, key.text) if exact else (self.folded, key.folded)
        if not matching.whole_words or len(wanted.split()) > 1:
            return wanted in text
        if not WORD.fullmatch(wanted):
            return _stands_alone(wanted, text)
        if exact not in self._words:
            self._words[exact] = frozenset(WORD.findall(text))
        return wanted in self._words[exact]


def _stands_alone(wanted: str, text: str) -> bool:
    at = -1
    for _ in range(MOST_PLACES):
        at = text.find(wanted, at + 1)
        if at < 0:
            return False
        end = at + len(wanted)
        if _border(wanted[0], text[max(at - 1, 0) : at]) and _border(wanted[-1], text[end : end + 1]):
            return True
    return False


def _border(edge: str, neighbour: str) -> bool:
    """Whether a key that ends with this character may have this one beside it, or none."""
    if not WORD.match(neighbour):
        return True
    return not WORD.match(edge) and bool(_UNSPACED.match(edge))


class PatternSearch:
    """Searches regular expressions, which may cost so much in one activation and no more."""

    EACH = 0.05
    """Seconds of processor time for one search."""
    IN_ALL = 0.5
    """Seconds of processor time for all searches."""
    COMPILED = 200_000
    """Characters of expressions that are compiled; that takes time too, and is counted so as to be the same
    on every machine."""

    def __init__(self) -> None:
        self.faults: dict[str, Fault] = {}
        """Why a key, by its text, cannot match any more."""
        self._seconds = self.IN_ALL
        self._compiled: dict[str, regex.Pattern[str]] = {}
        self._left = self.COMPILED

    def search(self, key: LoreKey, text: Callable[[], str]) -> regex.Match[str] | None:
        """The first place where a key matches, or None; the text is asked for only when it is searched."""
        pattern = None if key.text in self.faults else self._pattern(key)
        if pattern is None:
            return None
        begun = time.thread_time()
        try:
            look = pattern.match if "y" in key.flags else pattern.search
            return look(text(), timeout=min(self.EACH, self._seconds))
        except TimeoutError:
            self.faults[key.text] = "regex_timeout"
            return None
        finally:
            self._seconds -= time.thread_time() - begun

    def _pattern(self, key: LoreKey) -> regex.Pattern[str] | None:
        if key.text not in self._compiled:
            translated = translate(key.source or "", key.flags)
            self._left -= translated.cost if translated else 0
            pattern = compile_translated(translated) if translated and self._left >= 0 else None
            if pattern is None:
                self.faults[key.text] = "bad_regex" if self._left >= 0 else "regex_timeout"
                return None
            self._compiled[key.text] = pattern
        if self._seconds <= 0:
            self.faults[key.text] = "regex_timeout"
            return None
        return self._compiled[key.text]

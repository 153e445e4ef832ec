r"""Keys of lorebook entries, and the search for all plain keys of many entries in one pass.

A key of the form `/…/flags` with escaped inner slashes is a regular expression; every other key is plain
text. Expressions are untrusted, so their search has a time limit.

When whole words are matched, a key of several words still matches anywhere. A key of one word matches only
if no letter, digit or underscore is next to it. Scripts without spaces have no word boundaries: there a key
matches inside longer text, and a character of such a script next to a key counts as a boundary.
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

Fault = Literal["bad_regex", "regex_limit", "regex_timeout"]

HEAD = 12
"""Characters of a key in the automaton. With complete keys, a hostile book of nested keys could match
thousands of times at every character."""

_SLICE = 65_536

_WORD_CHARACTER = (
    r"[^\W\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
)
"""Characters of words in scripts with spaces. Korean is excluded, since particles are attached to nouns."""
WORD = regex.compile(f"{_WORD_CHARACTER}+")
_UNSPACED = regex.compile(r"\w")
"""Applied to characters that are not word characters."""

MOST_PLACES = 1_000
"""The most occurrences of a key that are checked for word boundaries."""


@dataclass(frozen=True, slots=True)
class LoreKey:
    """One key with macros replaced."""

    text: str
    """The key without surrounding blanks."""
    folded: str = ""
    """The case-folded key; empty for a regular expression."""
    head: str = ""
    """The beginning, for the automaton; empty for a regular expression."""
    source: str | None = None
    """The regular expression between the slashes; None for plain text."""
    flags: str = ""


class Matching(NamedTuple):
    """How plain keys are compared."""

    case_sensitive: bool
    whole_words: bool


def fold(text: str) -> str:
    """Case-fold a text."""
    folded = text.casefold()
    if folded.isascii():
        return folded
    # The automaton does not accept lone surrogates, which JSON can contain.
    return folded.encode("utf-8", "backslashreplace").decode()


_REGEX_SHAPE = re.compile(r"/((?:[^/\\]|\\.)+)/([gimsuy]*)", re.DOTALL)


@lru_cache(maxsize=1 << 16)
def parse_key(text: str) -> LoreKey | None:
    """Parse a key; None for an empty one."""
    text = text.strip()
    if not text:
        return None
    shape = _REGEX_SHAPE.fullmatch(text)
    if shape:
        return LoreKey(text, source=shape[1], flags=shape[2])
    folded = fold(text)
    return LoreKey(text, folded, folded[:HEAD])


class KeyIndex:
    """Finds the heads of many plain keys in one pass over a text."""

    def __init__(self, heads: frozenset[str]) -> None:
        self._automaton = AhoCorasick(heads)

    def heads_in(self, folded: str) -> set[str]:
        """The heads that occur in a text, which must be case-folded by `fold`."""
        found: set[str] = set()
        for start in range(0, len(folded), _SLICE):  # in slices, to keep the list of occurrences small
            part = folded[start : start + _SLICE + HEAD - 1]
            found.update(self._automaton.find_matches_as_strings(part, overlapping=True))
        return found


@lru_cache(maxsize=4)
def key_index(heads: frozenset[str]) -> KeyIndex:
    """The index of these heads, cached for the next message of the same chat."""
    return KeyIndex(heads)


class SearchedText:
    """A text that is searched for plain keys."""

    def __init__(self, text: str) -> None:
        self.raw = text
        self.folded = fold(text)
        self._words: dict[bool, frozenset[str]] = {}

    def has(self, key: LoreKey, matching: Matching) -> bool:
        """Whether a plain key occurs in the text."""
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
    """Whether there is a word boundary between a key's edge and the neighbouring character, if any."""
    if not WORD.match(neighbour):
        return True
    return not WORD.match(edge) and bool(_UNSPACED.match(edge))


class PatternSearch:
    """Searches regular expressions, with limits for one activation."""

    EACH = 0.05
    """Most seconds of processor time for one search."""
    IN_ALL = 0.5
    """Most seconds of processor time for all searches."""
    MOST = 2_000
    """Most expressions; `js_regex` caches more, so that the next message compiles none of them again."""
    COMPILED = 200_000
    """Most characters of all expressions, which limits compile time equally on every machine."""

    def __init__(self) -> None:
        self.faults: dict[str, Fault] = {}
        """The fault of each key that cannot match, by the key's text."""
        self._seconds = self.IN_ALL
        self._compiled: dict[str, regex.Pattern[str]] = {}
        self._left = self.COMPILED
        self._expressions = 0

    def search(self, key: LoreKey, text: Callable[[], str]) -> regex.Match[str] | None:
        """The first match of a key, or None; `text` is called only if a search is made."""
        pattern = None if key.text in self.faults else self._pattern(key)
        if pattern is None:
            return None
        started = time.thread_time()
        try:
            look = pattern.match if "y" in key.flags else pattern.search
            return look(text(), timeout=min(self.EACH, self._seconds))
        except TimeoutError:
            self.faults[key.text] = "regex_timeout"
            return None
        finally:
            self._seconds -= time.thread_time() - started

    def _pattern(self, key: LoreKey) -> regex.Pattern[str] | None:
        if key.text not in self._compiled:
            pattern = self._compile(key)
            if pattern is None:
                return None
            self._compiled[key.text] = pattern
        if self._seconds <= 0:
            self.faults[key.text] = "regex_timeout"
            return None
        return self._compiled[key.text]

    def _compile(self, key: LoreKey) -> regex.Pattern[str] | None:
        """Compile a key that is not compiled yet; None, and a fault, if that is not possible."""
        source = key.source or ""
        # Characters count before the translation, which takes time too; what repetitions add, after it.
        self._expressions += 1
        self._left -= len(source)
        translated = translate(source, key.flags) if self._is_within_limits else None
        if translated is not None:
            self._left -= translated.cost - len(source)
        if not self._is_within_limits:
            self.faults[key.text] = "regex_limit"
            return None
        pattern = compile_translated(translated) if translated is not None else None
        if pattern is None:
            self.faults[key.text] = "bad_regex"
        return pattern

    @property
    def _is_within_limits(self) -> bool:
        return self._left >= 0 and self._expressions <= self.MOST

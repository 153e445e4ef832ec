"""Names in a scene: the forms of a name, and where they occur in a text."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain, groupby, repeat
from typing import NamedTuple

from rolellm_agents.scripts.people import TITLES, split_title

HAN = "\u3400-\u9fff"
LETTER = rf"[^\W_{HAN}]"
"""Matches one letter or digit of a script that separates words with blanks."""

_WORD = re.compile(rf"[{HAN}]+|{LETTER}+(?:['’-]{LETTER}+)*")
_TITLES = {title.casefold() for title in TITLES}
_SMALL = re.compile(
    "the|an?|of|and|or|de[lrns]?|della|d[iau]|las?|les?|el|los|v[oa]n|bin|ibn|al|who|with|from",
    re.IGNORECASE,
)
_ORDINARY = re.compile(
    "angel|art|bill|brown|chase|dawn|faith|frank|grace|gray|green|grant|hope|house|iris|ivy|jack|jade|joy|king"
    "|knight|lily|long|mark|may|might|miles|olive|page|pat|pearl|penny|po|ray|rich|rob|rose|ruby|rusty|sandy"
    "|sky|sonny|star|sue|summer|sunny|violet|wade|white|will|winter|wolf|young",
    re.IGNORECASE,
)
"""Names that are ordinary words too; they count as names only with a capital letter."""
_NUMERAL = re.compile(r"[IVXLC]{2,}|\d+")
_GIVEN = re.compile(rf"[{HAN}]{{3}}")
_ALIKE = {"doctor": "dr", "mister": "mr"}


class Mention(NamedTuple):
    """A place in a text where a seat is named."""

    seats: tuple[str, ...]
    """Several when they share the name that occurs there."""
    start: int
    end: int


def forms_of(name: str) -> tuple[str, ...]:
    """The full name and the parts that identify its bearer.

    Titles and small words are not parts, unless the name has nothing else. The last two characters of a
    Chinese name of three are a part.
    """
    words = [word for word in _WORD.findall(name) if len(word) > 1 and not _NUMERAL.fullmatch(word)]
    words = [word for word in words if not (_SMALL.fullmatch(word) or word[0].islower())]
    parts = [word for word in words if word.casefold() not in _TITLES] or words
    given = [part[1:] for part in parts if _GIVEN.fullmatch(part)]
    return tuple(dict.fromkeys(form for form in (" ".join(name.split()), *parts, *given) if form))


def any_of(forms: Iterable[str], *, match_case: bool = False) -> str:
    """A regular expression for any of some forms, as whole words where words are separated by blanks.

    Args:
        forms: the forms of the names. Each form has one group, in the order of `longest_first`.
        match_case: whether names that are ordinary words match only in their own case.
    """
    # The lookarounds enclose many forms at once, because their character ranges compile slowly.
    bounded = [
        f"{before}(?:{'|'.join(_captured(form, match_case) for form in alike)}){after}"
        for (before, after), alike in groupby(longest_first(forms), _bounds)
    ]
    return "|".join(bounded) or r"(?!)"


def pattern_of(form: str) -> str:
    """A regular expression for one form in any case; see `any_of`."""
    return any_of((form,))


def longest_first(forms: Iterable[str]) -> list[str]:
    """Distinct forms, in an order in which no form hides a longer one."""
    # Grouped by the kind of first character: only forms of one group can hide each other.
    return sorted(set(forms), key=lambda form: (_bounds(form)[0], -len(form), form))


def _bounds(form: str) -> tuple[str, str]:
    before = rf"(?<!{LETTER})" if re.match(LETTER, form) else ""
    after = rf"(?!{LETTER})" if re.search(rf"{LETTER}\Z", form) else ""
    return before, after


def _captured(form: str, match_case: bool) -> str:
    words = r"[ \t\n]{1,3}".join(map(_word_pattern, form.split()))
    return f"({words})" if match_case and _ORDINARY.fullmatch(form) else f"((?i:{words}))"


def _word_pattern(word: str) -> str:
    if word.rstrip(".").casefold() in _TITLES:
        return re.escape(word.rstrip(".")) + r"\.?"
    return re.sub("['’]", "['’]", re.escape(word))


class SeatNames:
    """Finds the names of seats in texts."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = dict(names)
        full: dict[str, list[str]] = {}
        parts: dict[str, list[str]] = {}
        forms: dict[str, None] = {}
        for seat, name in names.items():
            for seats_by_form, form in zip(chain([full], repeat(parts)), forms_of(name), strict=False):
                seats_by_form.setdefault(form.casefold(), []).append(seat)
                forms[form] = None
        # A full name goes before a part: “Jack” is the seat Jack, not Jack Sparrow.
        seats = {**parts, **full}
        self._seats = [tuple(seats[form.casefold()]) for form in longest_first(forms)]
        self._pattern = re.compile(any_of(forms, match_case=True))
        self._typed = re.compile(any_of(forms))

    def mentions(self, text: str) -> Iterator[Mention]:
        """All mentions in order; of names that begin at the same place, the longest."""
        for found in self._pattern.finditer(text):
            yield self._mention(found)

    def at(self, text: str, place: int, *, typed: bool = False) -> Mention | None:
        """The mention that begins at a place; `typed` text matches in any case."""
        found = (self._typed if typed else self._pattern).match(text, place)
        return self._mention(found) if found else None

    def mentioned(self, text: str) -> tuple[str, ...]:
        """The seats that a text mentions, in the order of their first mention."""
        return tuple(dict.fromkeys(seat for mention in self.mentions(text) for seat in mention.seats))

    def _mention(self, found: re.Match[str]) -> Mention:
        return Mention(self._seats[(found.lastindex or 1) - 1], found.start(), found.end())


@lru_cache(maxsize=256)
def _names(items: tuple[tuple[str, str], ...]) -> SeatNames:
    return SeatNames(dict(items))


def index_names(names: Mapping[str, str]) -> SeatNames:
    """A `SeatNames` for these names, cached for the next text of the same scene."""
    return _names(tuple(names.items()))


def title_fits(title: str, name: str) -> bool:
    """Whether a title fits a name: the name has no title, or the same one."""
    own = split_title(name)[0]
    said = title.rstrip(".").casefold()
    return own == "" or _ALIKE.get(own, own) == _ALIKE.get(said, said)

"""Parse the head of an answer, before its words: the speaker's own name, marks and acts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import regex

from rolellm_agents.scene.marks import Mark, mark_in
from rolellm_agents.scene.message_kinds import ACT, SAY, THINK, TURN_KINDS, MessageKind
from rolellm_agents.scene.names import HAN, SeatNames, any_of, forms_of

LONGEST = 240
"""Most characters in a bracket; while it is open, a streamed answer cannot be shown."""
_LONGEST_NAME = 60
_BEFORE_COLON = 80
"""Characters between a name and its colon."""

_CLOSING = {"(": ")", "[": "]", "【": "】", "<": ">", "{": "}"}
_WIDE = str.maketrans("（）", "()")
_STARS = re.compile(r"[*_]{1,3}(?=[^\s*_])")
_ONLY_STARS = re.compile(r"[*_]{1,3}")
_BY_WIDENESS = ("everyone", "addressees", "speaker")
_QUOTES = '"“”「『‘'
_WRAPPING = " \t\n*_()[]【】<>{}（）"
_COLON = re.compile(r"[:：]")
_AFTER_NAME = re.compile(r"[:：\n]")
_BRACKETED = re.compile(r"[(（\[【*_].*[)）\]】*_]")
_SPEAKS = re.compile(
    r"(?:(?:says?|said|replie[sd]|answer(?:s|ed)?|respond(?:s|ed)?|ask(?:s|ed)?|add(?:s|ed)?|continue[sd]?)"
    rf"(?: \w+ly)?|[{HAN}]{{0,3}}[说道])"
)


class StageDirections(NamedTuple):
    """The parsed head of an answer."""

    kind: MessageKind
    to: tuple[str, ...]
    kept: str
    """Words of the head that belong to the text: words in a mark, and everything that is not a mark."""
    end: int
    """Where the head ends."""
    alone: str
    """The text if nothing follows the head."""

    def final_text(self, text: str) -> str:
        """The text of a complete answer."""
        return text.strip() or self.alone


class StageDirectionParser:
    """Parses the heads of one speaker's answers.

    For an incomplete answer it gives either the same result as for the complete one, or None, wherever the
    incomplete answer ends.
    """

    def __init__(
        self, turn_kinds: Sequence[MessageKind], names: SeatNames, own_names: Sequence[str]
    ) -> None:
        """Create a parser; for the arguments see `utterances.parse_utterance`."""
        self._turn_kinds = turn_kinds
        self._names = names
        self._own = _own_pattern(tuple(own_names))
        self._bare = _bare_pattern(_bare_forms((*TURN_KINDS, *turn_kinds)))

    def read(self, text: str, *, complete: bool) -> StageDirections | None:
        """Parse the head of an answer; None when an incomplete answer does not decide it yet."""
        ahead, found = _Ahead(text, complete), _HeadState()
        try:
            place = ahead.past_blanks(0)
            while place < LONGEST and ahead.has(place):
                beyond = self._piece(ahead, place, found)
                if beyond is None:
                    break
                place = ahead.past_blanks(beyond)
        except _MoreNeededError:
            return None
        if found.mark:
            return StageDirections(found.mark.kind, found.mark.to, found.kept, place, found.alone)
        if found.acts and not found.others and place >= len(text) and ACT in self._turn_kinds:
            return StageDirections(ACT, (), "", place, " ".join(found.acts))
        return StageDirections(self._plain(), (), found.kept, place, "")

    def _piece(self, ahead: "_Ahead", place: int, found: "_HeadState") -> int | None:
        """Parse one piece of the head and return where it ends; None where the words begin."""
        beyond = None if found.named else self._own_name(ahead, place, found)
        if beyond is not None:
            found.named = True
            return beyond
        beyond = self._bare_mark(ahead, place, found)
        if beyond is not None:
            return beyond
        if ahead.text[place] in _QUOTES and not found.others:
            found.keep(ahead.text[place])
            return place + 1
        group = ahead.group(place)
        mark = group and mark_in(group.inside, self._names, self._turn_kinds)
        if group is None or not group.closed:
            # The end of such a mark is unknown, so it applies to everything after it.
            found.take(mark, "")
            found.others = True
            return None
        beyond = ahead.past_blanks(group.end)
        if mark:
            found.take(mark, group.inside)
            return ahead.past_colon(beyond)
        if group.act:
            found.acts.append(group.inside.strip())
            found.kept += ahead.text[place:beyond]
        else:
            found.keep(ahead.text[place:beyond])
        return beyond

    def _own_name(self, ahead: "_Ahead", place: int, found: "_HeadState") -> int | None:
        """Where the speaker's name with its mark and colon ends; None when there is none at this place."""
        name = ahead.starts_with(self._own, place) if self._own else None
        colon = ahead.within(_AFTER_NAME, name.end(), _BEFORE_COLON) if name else None
        if name is None or colon is None:
            return None
        between = ahead.text[name.end() : colon.start()]
        about = between.strip(" \t*_]】>#")
        mark = mark_in(about, self._names, self._turn_kinds)
        if colon.group() == "\n":
            if about:
                return None
        elif mark:
            found.take(mark, about)
        elif _BRACKETED.fullmatch(about):
            found.keep(f"{about} ")
        elif about and not _SPEAKS.fullmatch(about):
            return None
        return ahead.past_stars(colon.end(), name["stars"]) if name["stars"] not in between else colon.end()

    def _bare_mark(self, ahead: "_Ahead", place: int, found: "_HeadState") -> int | None:
        """Where a mark without brackets and its colon end; None when there is none at this place."""
        if found.mark or found.others or not ahead.starts_with(self._bare, place):
            return None
        colon = ahead.within(_AFTER_NAME, place, _BEFORE_COLON)
        if colon is None or colon.group() == "\n":
            return None
        about = ahead.text[place : colon.start()]
        mark = mark_in(about, self._names, self._turn_kinds)
        found.take(mark, about)
        return colon.end() if mark else None

    def _plain(self) -> MessageKind:
        """The kind of an answer without a mark: say, else act, else another public one, else think."""
        aloud = [kind for kind in self._turn_kinds if kind.perceived_by == "everyone"]
        return next((kind for kind in (SAY, ACT, *aloud) if kind in aloud), THINK)


class _MoreNeededError(Exception):
    """The incomplete text does not decide the result yet."""


@dataclass
class _HeadState:
    """The head as far as it is parsed."""

    mark: Mark | None = None
    kept: str = ""
    alone: str = ""
    acts: list[str] = field(default_factory=list)
    others: bool = False
    """Whether the head has anything that is not an act."""
    named: bool = False

    def keep(self, words: str) -> None:
        self.kept += words
        self.others = True

    def take(self, mark: Mark | None, inside: str) -> None:
        """Add a mark. The first of several marks counts, but one that fewer perceive replaces it."""
        if mark is None:
            return
        if self.mark is None or _fewer_perceive(mark.kind, self.mark.kind):
            self.mark = mark
        self.kept += mark.words and f"{mark.words.strip()} "
        self.alone = self.alone or inside.strip(_WRAPPING)


class _Group(NamedTuple):
    """A group in brackets or asterisks."""

    inside: str
    end: int
    closed: bool
    act: bool


@dataclass(frozen=True)
class _Ahead:
    """Lookahead in a text that may be incomplete; raises `_MoreNeededError` where its end matters."""

    text: str
    complete: bool

    def has(self, place: int) -> bool:
        """Whether there is a character at a place."""
        if place < len(self.text):
            return True
        if self.complete:
            return False
        raise _MoreNeededError

    def past_blanks(self, place: int) -> int:
        while place < len(self.text) and self.text[place].isspace():
            place += 1
        return place

    def past_colon(self, place: int) -> int:
        return place + 1 if self.has(place) and self.text[place] in ":：" else place

    def past_stars(self, place: int, stars: str) -> int:
        """The place after these asterisks, if they are at this place."""
        for number, star in enumerate(stars):
            if not self.has(place + number) or self.text[place + number] != star:
                return place
        return place + len(stars)

    def starts_with(self, pattern: "regex.Pattern[str]", place: int) -> "regex.Match[str] | None":
        found = pattern.match(self.text, place, partial=not self.complete)
        if found and not self.complete and (found.partial or found.end() == len(self.text)):
            raise _MoreNeededError
        return found

    def within(self, pattern: re.Pattern[str], place: int, width: int) -> re.Match[str] | None:
        """The first match in the next `width` characters."""
        found = pattern.search(self.text, place, place + width)
        if found is None and len(self.text) < place + width:
            self.has(len(self.text))
        return found

    def group(self, place: int) -> _Group | None:
        """The group at a place; not closed when its end is more than `LONGEST` characters away."""
        stars = _STARS.match(self.text, place)
        if stars:
            closing = self.text.find(stars.group(), stars.end(), stars.end() + LONGEST)
            return self._group(stars.end(), closing, stars.group())
        if _ONLY_STARS.fullmatch(self.text, place):
            self.has(len(self.text))
        return self._bracketed(place)

    def _bracketed(self, place: int) -> _Group | None:
        opening = self.text[place].translate(_WIDE)
        if opening not in _CLOSING:
            return None
        depth = 0
        for at, sign in enumerate(self.text[place : place + 1 + LONGEST].translate(_WIDE), place):
            depth += (sign == opening) - (sign == _CLOSING[opening])
            if depth == 0:
                return self._group(place + 1, at, opening)
        return self._group(place + 1, -1, opening)

    def _group(self, start: int, closing: int, opening: str) -> _Group:
        if closing >= 0:
            end = closing + (len(opening) if opening not in _CLOSING else 1)
            return _Group(self.text[start:closing], end, True, opening == "*")
        if len(self.text) < start + LONGEST:
            self.has(len(self.text))
        return _Group(self.text[start : start + LONGEST], start, False, False)


def _fewer_perceive(kind: MessageKind, than: MessageKind) -> bool:
    return _BY_WIDENESS.index(kind.perceived_by) > _BY_WIDENESS.index(than.perceived_by)


def _bare_forms(turn_kinds: Sequence[MessageKind]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([kind.reader.bare for kind in turn_kinds if kind.reader]))


@lru_cache(maxsize=64)
def _bare_pattern(forms: tuple[str, ...]) -> "regex.Pattern[str]":
    """The beginning of a mark without brackets, which ends with a colon."""
    return regex.compile("|".join(forms), regex.IGNORECASE)


@lru_cache(maxsize=256)
def _own_pattern(names: tuple[str, ...]) -> "regex.Pattern[str] | None":
    forms = {form for name in names for form in forms_of(name) if len(form) <= _LONGEST_NAME}
    forms = {form for form in forms if not _COLON.search(form)}
    if not forms:
        return None
    return regex.compile(rf"[#\[【<>]{{0,3}}[ \t]{{0,2}}(?P<stars>[*_]{{0,3}})(?:{any_of(forms)})")

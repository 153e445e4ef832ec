"""Recognise the mark of a message kind: “whispers to Dr. Watson”, “aside”, “thinks”, “对沃森低声说”.

Private words must never reach more seats than they were meant for, so addressees are read conservatively: a
name counts only after the “to” of whispering or of leaning over, and an ambiguous name ends the list.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple, Protocol

import regex

from rolellm_agents.errors import SceneError
from rolellm_agents.scene.names import HAN, LETTER, Mention, SeatNames, title_fits
from rolellm_agents.scripts.people import TITLES


class MarkReading(NamedTuple):
    """What the words of a mark say."""

    to: tuple[str, ...] = ()
    """The addressees that are named; empty when none is recognised with certainty."""
    words: str = ""
    """Spoken words inside the mark, as in “thinks that he lies”."""


class MarkReader(Protocol):
    """Recognises the marks of one message kind."""

    @property
    def bare(self) -> str:
        """A regular expression for the beginning of a mark without brackets, which ends with a colon."""

    def read(self, head: str, names: SeatNames) -> MarkReading | None:
        """Read the words of a mark; None when they do not mark this kind.

        Args:
            head: the words in brackets or before a colon.
            names: names of the possible addressees.
        """


_SELF = r"(?:him|her|my|your|it|them|our)sel(?:f|ves)"
_HOW = r"(?:\w+ly|to|in|with|back|again|something|urgently|hoarsely)"
_ADVERBS = r"(?:silently|quietly|secretly|privately|inwardly|internally|mentally|only)"
_THINKS = re.compile(
    rf"(?:(?:he|she|i|they|it|(?-i:[A-Z][\w.'’-]*(?: [A-Z][\w.'’-]*){{0,4}})) )?(?:{_ADVERBS},? )*"
    rf"(?:think(?:s|ing)?|thought|thoughts|thinks? to {_SELF}|thinking to {_SELF}|thought to {_SELF}"
    rf"|(?:says? |saying |speaks? )?to {_SELF}|inner (?:thoughts?|voice|monologue)"
    r"|internal (?:thoughts?|monologue)|in thought|in (?:his|her|my|their) (?:mind|head|thoughts)"
    r"|silently|inwardly|internally|mentally)"
    rf"(?:,? {_ADVERBS})*(?: that (?P<that>.+))?",
    re.IGNORECASE | re.DOTALL,
)
_THINKS_ZH = re.compile(
    rf"(?!.*[了一])[{HAN}·]{{0,8}}?(?:在|于)?(?:心里|心中|内心|暗自|默默|暗暗)?地?"
    r"(?:心想|暗想|想道|想着|想|心道|暗道|心说|自忖|暗忖|思忖|独白|心声|os|OS|心理活动|内心|心里|心中)"
)
_LOW = (
    r"quietly|softly|under (?:his|her|my|their) breath|(?:low|hushed|lowered|quiet) (?:voice|tones?)"
    r"|(?:his|her|my|their) voice|murmur(?:s|ed|ing)?|mutter(?:s|ed|ing)?"
)
_FOR_FEW = (
    r"in (?:an?|his|her) (?:\w+ )?(?<!stage )whispers?"
    r"|(?<!\ba )(?<!\bthe )(?<!['’]s )(?<!stage )whisper(?:s|ed|ing)?"
    r"|privately|in private|confidentially|in confidence|secretly|sotto voce|(?:in an |^)aside"
    r"|in(?:to)? [^,;:]{1,40}?['’]s? ear"
)
_FOR_FEW_ZH = "耳语|悄悄|悄声|私下|密语|窃窃私语|附耳|耳边|传音|悄语|偷偷|旁白道|私语"
_LOW_ZH = "低声|小声|轻声|压低声音|压低嗓音|压低了声音"
_IS_FOR_FEW = re.compile(rf"\b(?:{_FOR_FEW})\b|{_FOR_FEW_ZH}", re.IGNORECASE)
_IS_LOW = re.compile(rf"\b(?:{_LOW})\b|{_LOW_ZH}", re.IGNORECASE)

_LEANS = (
    r"\b(?:lean|bend|bow|turn|mov|step|inch|edg|com|get|huddl)(?:e?s|ing|ed|e|s|ting|ts|ning)?"
    r"(?: (?:in|over|close|closer|near|nearer|down|across|forward|right|up))*,? to(?:wards?)?"
)
_TO = re.compile(
    rf"\b(?:{_FOR_FEW}|{_LOW})(?:,? {_HOW}){{0,2}}?,? (?:only |just )?to "
    rf"|^(?:only |just )?to "
    rf"|\b(?:in|into|at|close to|near)(?= [^,;]{{1,60}}?(?:['’]s?|s['’]) ear\b) "
    rf"|(?P<leans>{_LEANS}) "
    rf"|(?:{_FOR_FEW_ZH}|{_LOW_ZH})[地的]?(?:对着?|向|跟|给|朝) ?"
    rf"|(?P<zh>对着?|向|跟|给|朝|和|与) ?(?=[^，,。；]{{1,160}}?[，,]? ?(?:{_FOR_FEW_ZH}|{_LOW_ZH}))"
    rf"|(?P<ear>在|到|凑近|贴近|靠近|贴着|附在|凑到)(?=[^，,。；]{{1,20}}?(?:耳|身边)) ?",
    re.IGNORECASE,
)
_BEFORE_A_NAME = re.compile(
    r"(?:(?:his|her|my|their|the|dear|old|poor|young|good|friend|colleague|brother|sister|son|daughter"
    r"|wife|husband|master|mistress|servant|companion|partner) )+"
)
_TITLE = re.compile(r"(?:" + "|".join(sorted(TITLES, key=len, reverse=True)) + r")\b\.? ", re.IGNORECASE)
_ALL = re.compile(
    r"(?:everyone|everybody|all(?: of (?:them|you))?|them all|the others|the room)\b"
    r"(?! *,? *(?:but|except|save|apart|other))|(?:大家|众人|所有人|其他人)(?!除|之)",
    re.IGNORECASE,
)
_SOMEBODY_ELSE = re.compile(
    rf"['’]s?(?!\w)(?! ear\b)|的(?!耳)| (?!(?:I|In|Under|So|And)\b)[A-Z]{LETTER}|(?<=[{HAN}])[·]"
)
_AND = re.compile(r" ?(?:, ?and |, ?to |,|，|、|&| and to | and |和|与|及|跟|以及) ?", re.IGNORECASE)
_END_OF_LIST = re.compile(
    r" ?(?:$|[,，;；、.&:：)]|(?:and|only|alone|in|under|so|with|that|whisper\w*|aside|\w+ly)\b|和|与|及|跟"
    rf"|['’]s? ears?\b|的?耳|身边|{_FOR_FEW_ZH}|{_LOW_ZH}|[说道])"
)
_SOME_NAME = re.compile(
    rf"\bto (?:the |his |her )?[A-Z]{LETTER}|[对向跟给朝](?!自己|大家|众人|所有人|他们|空)[{HAN}]"
)
_THAT = re.compile(r" that ")
_EDGE = "(?:(?<![a-z])|(?![a-z]))"
"""No place between two Latin letters; a Chinese word has no other edges."""


@dataclass(frozen=True)
class ThoughtMarks:
    """Marks of a thought: “thinks”, “to himself”, “心想”."""

    bare: ClassVar = r"think(?:s|ing)(?: to \w+sel(?:f|ves))? ?[:：]|[我他她]?(?:心想|暗想|心道)"

    def read(self, head: str, names: SeatNames) -> MarkReading | None:
        """Read the words of a mark; see `MarkReader`."""
        thinks = _THINKS.fullmatch(head) or _THINKS_ZH.fullmatch(head)
        return MarkReading((), thinks.groupdict().get("that") or "") if thinks else None


@dataclass(frozen=True)
class WhisperMarks:
    """Marks of a whisper: “whispers to Dr. Watson”, “quietly, to Watson”, “对沃森低声说”."""

    bare: ClassVar = (
        r"(?:(?:he|she|i) )?whisper(?:s|ed|ing)?(?: \w+ly)? to |aside to "
        r"|(?:悄悄|低声)[地的]?[对向跟]|[对向跟][^\s：:，。]{1,20}?(?:低声|悄悄|耳语|小声)"
    )

    def read(self, head: str, names: SeatNames) -> MarkReading | None:
        """Read the words of a mark; see `MarkReader`."""
        for_few = _IS_FOR_FEW.search(head)
        if ThoughtMarks().read(head, names) or not (for_few or _IS_LOW.search(head)):
            return None
        to, end = _addressees(head, names, _WHISPERED)
        if to and (for_few or not _ALL.search(head)):
            that = _THAT.match(head, end)
            return MarkReading(to, head[that.end() :] if that else "")
        # Words spoken low to an unknown person stay private; to no one, or to all, they are public.
        return MarkReading() if for_few or _SOME_NAME.search(head) else None


class PublicMarks:
    """Marks that a pattern describes, of a kind that everyone perceives: nothing but the pattern."""

    def __init__(self, pattern: str) -> None:
        """Use a regular expression, for example `shout(?:s|ing)?`; case is ignored."""
        self.bare = rf"(?:(?:he|she|i) )?(?:{pattern})(?: \w+ly)? ?[:：]"
        self._mark = _compiled(rf"(?:(?:he|she|i) )?(?:{_ADVERBS} )?(?:{pattern})(?: \w+ly)?", pattern)

    def read(self, head: str, names: SeatNames) -> MarkReading | None:
        """Read the words of a mark; see `MarkReader`."""
        return MarkReading() if self._mark.fullmatch(head) else None


class PrivateMarks:
    """Marks that a pattern describes, of a kind that few perceive: the pattern anywhere in the mark."""

    def __init__(self, pattern: str) -> None:
        """Use a regular expression, for example `sign(?:s|ing)?`; case is ignored."""
        self.bare = (
            rf"(?:(?:he|she|i) )?(?:{pattern})(?: \w+ly)?(?: to | ?[:：])"
            rf"|(?:{pattern})[地的]?[对向跟]|[对向跟][^\s：:，。]{{1,20}}?(?:{pattern})"
        )
        word = rf"{_EDGE}(?:{pattern}){_EDGE}"
        self._mark = _compiled(word, pattern)
        self._addressing = _Addressing(
            _compiled(
                rf"{word}(?:,? {_HOW}){{0,2}}?,? (?:only |just )?to "
                rf"|^(?:only |just )?to (?=.*(?:{pattern}))"
                rf"|(?P<leans>{_LEANS}) "
                rf"|(?:{pattern})[地的]?(?:对着?|向|跟|给|朝) ?"
                rf"|(?P<zh>对着?|向|跟|给|朝|和|与) ?(?=[^，,。；]{{1,160}}?[，,]? ?(?:{pattern}))",
                pattern,
            ),
            _compiled(rf"{_END_OF_LIST.pattern}| ?(?:{pattern})", pattern),
        )

    def read(self, head: str, names: SeatNames) -> MarkReading | None:
        """Read the words of a mark; see `MarkReader`."""
        if not self._mark.search(head):
            return None
        to, end = _addressees(head, names, self._addressing)
        that = _THAT.match(head, end) if to else None
        return MarkReading(to, head[that.end() :] if that else "")


@lru_cache(maxsize=64)
def public_marks(pattern: str) -> MarkReader:
    """The reader of marks that a pattern describes, of a kind that everyone perceives.

    Raises:
        SceneError: the pattern is no regular expression.
    """
    return PublicMarks(pattern)


@lru_cache(maxsize=64)
def private_marks(pattern: str) -> MarkReader:
    """The reader of marks that a pattern describes, of a kind that few perceive.

    Raises:
        SceneError: the pattern is no regular expression.
    """
    return PrivateMarks(pattern)


def _compiled(expression: str, pattern: str) -> re.Pattern[str]:
    try:
        regex.compile(expression, regex.IGNORECASE)  # the parser of stage directions uses both
        return re.compile(expression, re.IGNORECASE)
    except (re.error, regex.error) as error:
        raise SceneError(f"The mark {pattern!r} is no regular expression ({error}); correct it.") from error


class _Addressing(NamedTuple):
    """How the marks of a kind name their addressees."""

    to: re.Pattern[str]
    """What comes before the first name."""
    end: re.Pattern[str]
    """What may come after the last name."""


_WHISPERED = _Addressing(_TO, _END_OF_LIST)


def _addressees(head: str, names: SeatNames, how: _Addressing) -> tuple[tuple[str, ...], int]:
    """The seats that a mark addresses, and where their list ends; none when that is uncertain."""
    found = list(how.to.finditer(head))
    # A speaker may lean towards one person and whisper to another.
    addressing = [match for match in found if not match["leans"]] or found
    for match in addressing:
        seats, end = _list_at(head, match.end(), names, how.end)
        if seats and not (match["zh"] and not how.end.match(head, end)):
            return seats, end
    return (), 0


def _list_at(
    head: str, place: int, names: SeatNames, end_of_list: re.Pattern[str]
) -> tuple[tuple[str, ...], int]:
    everybody = _ALL.match(head, place)
    if everybody:
        return tuple(names.names), everybody.end()
    first = _one_at(head, place, names)
    if first is None:
        return (), place
    seats, end = list(first.seats), first.end
    while joined := _AND.match(head, end):
        following = _one_at(head, joined.end(), names)
        if following is None or not end_of_list.match(head, following.end):
            break
        seats += following.seats
        end = following.end
    return tuple(dict.fromkeys(seats)), end


def _one_at(head: str, place: int, names: SeatNames) -> Mention | None:
    """The mention at this place, if it is exactly one seat and not part of a longer name."""
    before = _BEFORE_A_NAME.match(head, place)
    place = before.end() if before else place
    mention = names.at(head, place) or _titled_at(head, place, names)
    if mention is None or len(mention.seats) > 1 or _SOMEBODY_ELSE.match(head, mention.end):
        return None
    return mention


def _titled_at(head: str, place: int, names: SeatNames) -> Mention | None:
    title = _TITLE.match(head, place)
    mention = names.at(head, title.end()) if title else None
    if title is None or mention is None:
        return None
    fitting = tuple(seat for seat in mention.seats if title_fits(title.group().strip(), names.names[seat]))
    return mention._replace(seats=fitting) if fitting else None

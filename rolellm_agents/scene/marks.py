"""The meaning of a mark before a line's words: “whispers to Dr. Watson”, “aside”, “thinks”, “对沃森低声说”.

A whisper must never reach more seats than it was meant for, so addressees are read conservatively: a name
counts only after the “to” of whispering or of leaning over, and an ambiguous name ends the list. A whisper
without a recognised addressee becomes a thought, which nobody else hears.
"""

import re
from collections.abc import Container
from typing import Literal, NamedTuple

from rolellm_agents.scene.names import HAN, LETTER, Mention, SeatNames, title_fits
from rolellm_agents.scene.scene import TurnKind
from rolellm_agents.scripts.people import TITLES


class Mark(NamedTuple):
    """The meaning of a mark."""

    kind: Literal["whisper", "think"]
    to: tuple[str, ...] = ()
    """The addressees of a whisper."""
    words: str = ""
    """Spoken words inside the mark, as in “(thinks: he lies)”."""


_WRAPPING = " \t\n*_()[]（）【】.,，。;；-—"

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
_COLON = re.compile(r" ?[:：] ?")
_THAT = re.compile(r" that ")


def mark_in(inside: str, names: SeatNames, turn_kinds: Container[TurnKind]) -> Mark | None:
    """The meaning of the words in brackets or before a colon.

    Args:
        inside: the words, without the brackets.
        names: names of the possible addressees.
        turn_kinds: the speaker's allowed turn kinds; marks of other kinds are ignored. A whisper without
            an addressee is a thought even where `think` is not allowed.

    Returns:
        None when the words do not mark a whisper or a thought.
    """
    parts = _COLON.split(inside.strip(_WRAPPING), maxsplit=1)
    head, words = parts[0].strip(_WRAPPING), "".join(parts[1:])
    thinks = _THINKS.fullmatch(head) or _THINKS_ZH.fullmatch(head)
    if thinks:
        return (
            Mark("think", (), words or thinks.groupdict().get("that") or "")
            if "think" in turn_kinds
            else None
        )
    for_few = _IS_FOR_FEW.search(head)
    if "whisper" not in turn_kinds or not (for_few or _IS_LOW.search(head)):
        return None
    to, end = _addressees(head, names)
    if to and (for_few or not _ALL.search(head)):
        that = _THAT.match(head, end)
        return Mark("whisper", to, words or (head[that.end() :] if that else ""))
    # Words spoken low to an unknown person stay private; spoken low to no one, or to all, they are public.
    return Mark("think", (), words) if for_few or _SOME_NAME.search(head) else None


def _addressees(head: str, names: SeatNames) -> tuple[tuple[str, ...], int]:
    """The seats that a mark addresses, and where their list ends; none when that is uncertain."""
    found = list(_TO.finditer(head))
    # A speaker may lean towards one person and whisper to another.
    addressing = [match for match in found if not match["leans"]] or found
    for match in addressing:
        seats, end = _list_at(head, match.end(), names)
        if seats and not (match["zh"] and not _END_OF_LIST.match(head, end)):
            return seats, end
    return (), 0


def _list_at(head: str, place: int, names: SeatNames) -> tuple[tuple[str, ...], int]:
    everybody = _ALL.match(head, place)
    if everybody:
        return tuple(names.names), everybody.end()
    first = _one_at(head, place, names)
    if first is None:
        return (), place
    seats, end = list(first.seats), first.end
    while joined := _AND.match(head, end):
        following = _one_at(head, joined.end(), names)
        if following is None or not _END_OF_LIST.match(head, following.end):
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

"""Invisible characters of untrusted text, which can hide words, and which some scripts and emoji need.

Zero-width spaces, word joiners, byte order marks and tag characters are removed. A joiner or non-joiner
stays after a letter of a script that joins letters, and a joiner between two emoji. A variation selector
stays after a visible character. Tag characters stay in the flags of subdivisions, such as Scotland's.
"""

import re
from typing import Final

_JOINERS: Final = "\u200c\u200d"
_TAGS: Final = "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
_SELECTORS: Final = "\ufe00-\ufe0f"
_HAN_SELECTORS: Final = "\U000e0100-\U000e01ef"
_ALWAYS: Final = (
    "\u061c\u180e\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a"
)
INVISIBLE: Final = re.compile(f"[{_ALWAYS}{_TAGS}]")
"""Invisible characters that no text needs, except tag characters in flags."""

_MARKS = f"{_JOINERS}{_SELECTORS}{_HAN_SELECTORS}{_ALWAYS}{_TAGS}"
# Arabic to N’Ko, the scripts of India, Tibetan, Myanmar, Khmer, Mongolian, and newer blocks of such ones.
_JOINING = (
    "\u0600-\u061b\u061d-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u180d\u180f-\u18af\u1a20-\u1aaf"
    "\u1b00-\u1c4f\ua840-\ua87f\ua8e0-\ua8ff\ua980-\ua9df\uaa60-\uaa7f\uabc0-\uabff\ufb50-\ufdff"
    "\ufe70-\ufefc\U00010a00-\U00011fff\U0001e900-\U0001e95f"
)
_EMOJI = (
    "\xa9\xae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u27bf\u2934\u2935\u2b05-\u2b55"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_HAN = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_FLAG = "\U0001f3f4"
_FLAG_TAGS = "[\U000e0030-\U000e0039\U000e0061-\U000e007a]"
_FOUND = re.compile(f"(?P<flag>{_FLAG}{_FLAG_TAGS}{{3,6}}\U000e007f)|[{_MARKS}]")
_AN_EMOJI = re.compile(f"[{_EMOJI}]")
_NEEDED_AFTER = (
    (re.compile(f"[{_JOINERS}]"), re.compile(f"[{_JOINING}]\\Z")),
    (re.compile(f"[{_SELECTORS}]"), re.compile(f"[^\\s\\x00-\\x1f{_MARKS}]\\Z")),
    (re.compile(f"[{_HAN_SELECTORS}]"), re.compile(f"[{_HAN}]\\Z")),
)
"""Marks, and the end of a text after which they are needed."""
_EMOJI_AT_END = re.compile(f"[{_EMOJI}]\ufe0f?\\Z")
_UNDECIDED = re.compile(f"\u200d?(?:{_FLAG}{_FLAG_TAGS}{{0,6}})?\\Z")
"""The end of a text that depends on what follows."""
LONGEST_CONTEXT: Final = 2
"""The most characters before a mark that decide whether it is needed."""


def without_invisible(text: str, before: str = "") -> str:
    """Remove invisible characters except those that scripts and emoji need.

    `before` is the end of the text that was shown before this one.
    """
    shown: list[str] = []
    at = 0
    for found in _FOUND.finditer(text):
        shown.append(text[at : found.start()])
        at = found.end()
        before = (before + shown[-1])[-LONGEST_CONTEXT:]
        if found["flag"] or _is_needed(found.group(), before, text[at : at + 1]):
            shown.append(found.group())
            before = (before + shown[-1])[-LONGEST_CONTEXT:]
    return "".join([*shown, text[at:]]) if shown else text


def undecided_from(text: str) -> int:
    """Where the end of a text begins that depends on what follows; the text's length if nothing does."""
    found = _UNDECIDED.search(text)
    return found.start() if found else len(text)


def _is_needed(mark: str, before: str, after: str) -> bool:
    if any(marks.match(mark) and end.search(before) for marks, end in _NEEDED_AFTER):
        return True
    return mark == "\u200d" and bool(_EMOJI_AT_END.search(before) and _AN_EMOJI.match(after))

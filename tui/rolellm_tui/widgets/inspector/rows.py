"""Wrapping of text that keeps every character."""

import re
from collections.abc import Iterator

from rich.cells import cell_len, chop_cells

from rolellm_agents.text import CONTROL_CHARACTERS, replace_surrogates
from rolellm_agents.text.invisible import INVISIBLE

_PICTURES = {code: 0x2400 + code for code in range(0x20) if code != ord("\n")} | {0x7F: 0x2421}
_WIDE = r"\u3040-\u30ff\u3400-\u9fff"
_CLOSING = r"，。、！？；：”’」』）》〉】…—"
_WORDS = re.compile(
    rf"\n"
    rf"|[{_WIDE}][{_CLOSING}]*[^\S\n]*"  # Chinese breaks behind every character, but not before a stop
    rf"|[^\s{_WIDE}]+[^\S\n]*"
    rf"|[^\S\n]+"
)


def visible(text: str) -> str:
    """Replace control characters by visible ones; the length of the text is unchanged.

    Each control character except line breaks becomes its symbol (␛ for escape) or U+FFFD.
    """
    shown = CONTROL_CHARACTERS.sub("\ufffd", replace_surrogates(text).translate(_PICTURES))
    return INVISIBLE.sub("\ufffd", shown)


def rows_of(text: str, width: int) -> Iterator[slice]:
    """Wrap a text, and yield the start and end of each row as a slice.

    The rows, joined, are the text without line breaks. Blanks at the end of a row may exceed the width.

    Args:
        text: a result of `visible`.
        width: the width of a row in cells, at least 2.
    """
    room = max(2, width)
    start = used = 0
    for match in _WORDS.finditer(text):
        begin, word = match.start(), match.group()
        if word == "\n":
            yield slice(start, begin)
            start, used = match.end(), 0
            continue
        needed = cell_len(word.rstrip())
        if used and used + needed > room:
            yield slice(start, begin)
            start, used = begin, 0
        for piece in chop_cells(word, room)[:-1] if needed > room else ():
            yield slice(start, start + len(piece))
            start += len(piece)
            used = 0
        used += cell_len(text[max(start, begin) : match.end()])
    yield slice(start, len(text))

"""Text as rows of a given width, with every character in its place, for those who want to see all of it."""

import re
from collections.abc import Iterator

from rich.cells import cell_len, chop_cells

from rolellm_agents.text import CONTROL_CHARACTERS, whole

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
    """The text, safe to show and as long as before: no control character is left out, none is obeyed.

    Each but the newline becomes its picture (␛ for escape), and what no picture is for U+FFFD.
    """
    return CONTROL_CHARACTERS.sub("\ufffd", whole(text).translate(_PICTURES))


def rows_of(text: str, width: int) -> Iterator[slice]:
    """Where the text's rows begin and end, one after the other, as far as they are asked for.

    Rows joined are the text without its newlines. Blanks at the end of a row may reach over its edge.

    Args:
        text: as `visible` gives it.
        width: of a row in cells; 2 at least, since there are characters so wide.
    """
    room = max(2, width)
    start = used = 0
    for match in _WORDS.finditer(text):
        at, word = match.start(), match.group()
        if word == "\n":
            yield slice(start, at)
            start, used = match.end(), 0
            continue
        needed = cell_len(word.rstrip())
        if used and used + needed > room:
            yield slice(start, at)
            start, used = at, 0
        for piece in chop_cells(word, room)[:-1] if needed > room else ():
            yield slice(start, start + len(piece))
            start += len(piece)
            used = 0
        used += cell_len(text[max(start, at) : match.end()])
    yield slice(start, len(text))

"""What is said aloud in a paragraph of a novel: its quotations, by the marks that this text uses."""

import re
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Marks:
    """A way of marking speech."""

    opening: re.Pattern[str]
    closing: re.Pattern[str]

    def count(self, text: str) -> int:
        """How many quotations these marks make of a text."""
        closings = len(self.closing.findall(text))
        return closings // 2 if self.closing.pattern == self.opening.pattern else closings


_WAYS = (
    Marks(re.compile("“"), re.compile("”")),
    Marks(re.compile("「"), re.compile("」")),
    Marks(re.compile("『"), re.compile("』")),
    Marks(re.compile("«"), re.compile("»")),
    Marks(re.compile('"'), re.compile('"')),
    # An apostrophe looks like a closing mark: that one comes after a sentence's mark and before no letter.
    Marks(re.compile(r"(?<!\w)‘"), re.compile(r"(?<=[.,!?;:…—–\-)*])’(?!\w)")),
    Marks(re.compile(r"(?<!\w)'(?=\w)"), re.compile(r"(?<=[.,!?;:…—–\-)*])'(?!\w)")),
)
_ENOUGH = 5


class Quotation(NamedTuple):
    """A stretch of speech: its place in the paragraph, marks included, and its words."""

    start: int
    end: int
    words: str


def marks_of(text: str) -> Marks | None:
    """The marks that this text uses; `None` when nobody speaks in it."""
    marks = max(_WAYS, key=lambda marks: marks.count(text))
    return marks if marks.count(text) >= _ENOUGH else None


def count_quotations(text: str) -> int:
    """How many quotations a text has."""
    return max(marks.count(text) for marks in _WAYS)


def quotations(paragraph: str, marks: Marks) -> tuple[list[Quotation], bool]:
    """The quotations of a paragraph, and whether the last one is still open at its end.

    A speech of several paragraphs opens each of them anew, and only the last one closes.
    """
    found: list[Quotation] = []
    at = 0
    while opened := marks.opening.search(paragraph, at):
        closed = marks.closing.search(paragraph, opened.end())
        end = closed.end() if closed else len(paragraph)
        words = paragraph[opened.end() : closed.start() if closed else end].strip()
        if words:
            found.append(Quotation(opened.start(), end, words))
        if closed is None:
            return found, True
        at = end
    return found, False

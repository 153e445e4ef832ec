"""Find quotations in a novel by the quotation marks that its text uses."""

import re
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Marks:
    """A pair of quotation marks."""

    opening: re.Pattern[str]
    closing: re.Pattern[str]

    def count(self, text: str) -> int:
        """The number of quotations in a text with these marks."""
        closings = len(self.closing.findall(text))
        return closings // 2 if self.closing.pattern == self.opening.pattern else closings


_WAYS = (
    Marks(re.compile("“"), re.compile("”")),
    Marks(re.compile("「"), re.compile("」")),
    Marks(re.compile("『"), re.compile("』")),
    Marks(re.compile("«"), re.compile("»")),
    Marks(re.compile('"'), re.compile('"')),
    # An apostrophe looks like a closing mark, so a closing mark must follow punctuation.
    Marks(re.compile(r"(?<!\w)‘"), re.compile(r"(?<=[.,!?;:…—–\-)*])’(?!\w)")),
    Marks(re.compile(r"(?<!\w)'(?=\w)"), re.compile(r"(?<=[.,!?;:…—–\-)*])'(?!\w)")),
)
_ENOUGH = 5


class Quotation(NamedTuple):
    """A quotation: its place in the paragraph including the marks, and its words."""

    start: int
    end: int
    words: str


def marks_of(text: str) -> Marks | None:
    """The marks that a text uses; `None` when it has too few quotations."""
    marks = max(_WAYS, key=lambda marks: marks.count(text))
    return marks if marks.count(text) >= _ENOUGH else None


def count_quotations(text: str) -> int:
    """The number of quotations in a text."""
    return max(marks.count(text) for marks in _WAYS)


def quotations(paragraph: str, marks: Marks) -> tuple[list[Quotation], bool]:
    """The quotations of a paragraph, and whether the last one is open at its end.

    A quotation of several paragraphs has an opening mark in each and a closing mark in the last only.
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

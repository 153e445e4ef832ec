"""What a report consists of, whatever it is written as."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class TextBlock:
    """A paragraph."""

    form: ClassVar[str] = "words"
    text: str


@dataclass(frozen=True)
class ListBlock:
    """Short sentences below each other."""

    form: ClassVar[str] = "listed"
    items: Sequence[str]


@dataclass(frozen=True)
class TableBlock:
    """Cells of text; rows have as many as there are heads."""

    form: ClassVar[str] = "table"
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1
    """Columns at the left that hold words; the others hold figures and stand to the right."""
    caption: str = ""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A picture."""

    svg: str
    """A complete element, safe to stand in a page; empty where matplotlib is not installed."""
    alt: str
    """What it shows, in words."""


@dataclass(frozen=True, kw_only=True)
class Plot:
    """Pictures that belong together, with the figures that they are drawn from."""

    form: ClassVar[str] = "plot"
    name: str
    """In the names of files: small letters and hyphens."""
    panels: Sequence[Panel]
    table: TableBlock
    note: str = ""


@dataclass(frozen=True)
class VerdictBlock:
    """A verdict, as a reader is told of it."""

    measure: str
    value: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class ReplyBlock:
    """Something said, with what is known of it."""

    by: str
    text: str
    marks: Sequence[str] = ()
    verdicts: Sequence[VerdictBlock] = ()
    heading: str = ""
    """What it answers, where replies follow each other."""


@dataclass(frozen=True, kw_only=True)
class QuestionBlock:
    """A question with replies side by side; closed until somebody opens it."""

    form: ClassVar[str] = "asked"
    question: str
    replies: Sequence[ReplyBlock]
    references: Sequence[str] = ()
    marks: Sequence[str] = ()


@dataclass(frozen=True)
class DialogueBlock:
    """Replies below each other, as they were said."""

    form: ClassVar[str] = "talk"
    replies: Sequence[ReplyBlock]


@dataclass(frozen=True)
class Fold:
    """Blocks under a title that opens them."""

    form: ClassVar[str] = "fold"
    title: str
    blocks: "Sequence[Block]"


Block = TextBlock | ListBlock | TableBlock | Plot | QuestionBlock | DialogueBlock | Fold


@dataclass(frozen=True)
class Section:
    """A part of a report with a heading."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Chapter:
    """All that is told of one run."""

    title: str
    lead: str
    """What it is, in a sentence or two."""
    sections: Sequence[Section]


@dataclass(frozen=True)
class Report:
    """A whole report."""

    title: str
    chapters: Sequence[Chapter]

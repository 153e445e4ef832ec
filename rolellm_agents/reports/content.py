"""The parts of a report, independent of its output format."""

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
    """A list of short sentences."""

    form: ClassVar[str] = "listed"
    items: Sequence[str]


@dataclass(frozen=True)
class TableBlock:
    """A table of text cells; each row has as many cells as there are heads."""

    form: ClassVar[str] = "table"
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1
    """Number of text columns on the left; the other columns hold right-aligned figures."""
    caption: str = ""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One picture of a plot."""

    svg: str
    """A complete SVG element, safe to embed in a page; empty when matplotlib is not installed."""
    alt: str
    """Alternative text."""


@dataclass(frozen=True, kw_only=True)
class Plot:
    """Pictures that belong together, with a table of the plotted figures."""

    form: ClassVar[str] = "plot"
    name: str
    """Part of the file names: lower-case letters and hyphens."""
    panels: Sequence[Panel]
    table: TableBlock
    note: str = ""


@dataclass(frozen=True)
class VerdictBlock:
    """A verdict, formatted for readers."""

    measure: str
    value: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class ReplyBlock:
    """A reply with its marks and verdicts."""

    by: str
    text: str
    marks: Sequence[str] = ()
    verdicts: Sequence[VerdictBlock] = ()
    heading: str = ""
    """The question that it answers, in a dialogue."""


@dataclass(frozen=True, kw_only=True)
class QuestionBlock:
    """A collapsed question with replies side by side."""

    form: ClassVar[str] = "asked"
    question: str
    replies: Sequence[ReplyBlock]
    references: Sequence[str] = ()
    marks: Sequence[str] = ()


@dataclass(frozen=True)
class DialogueBlock:
    """The replies of a conversation, in order."""

    form: ClassVar[str] = "talk"
    replies: Sequence[ReplyBlock]


@dataclass(frozen=True)
class Fold:
    """Collapsed blocks under a title."""

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
    """The part of a report about one run."""

    title: str
    lead: str
    """A summary in one or two sentences."""
    sections: Sequence[Section]


@dataclass(frozen=True)
class Report:
    """A report with a chapter for each run."""

    title: str
    chapters: Sequence[Chapter]

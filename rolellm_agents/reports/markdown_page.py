"""Render a report as Markdown, with all tables and with pictures in separate files."""

from collections.abc import Iterator
from typing import Final

from rolellm_agents.evaluation.formatting import markdown_table
from rolellm_agents.files.pictures import ADVICE
from rolellm_agents.reports.content import (
    Block,
    Chapter,
    DialogueBlock,
    Fold,
    ListBlock,
    Plot,
    QuestionBlock,
    ReplyBlock,
    Report,
    TableBlock,
    TextBlock,
)
from rolellm_agents.text import one_line

_MARKS: Final = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]<>#|"})


def markdown_of(report: Report, pictures: str) -> str:
    """Render a report. `pictures` is the folder of the pictures, relative to the Markdown file."""
    parts = [f"# {_plain(report.title)}"]
    for number, chapter in enumerate(report.chapters, 1):
        parts += _chapter(chapter, number, pictures)
    return "\n\n".join(parts) + "\n"


def picture_name(chapter: int, plot: Plot, panel: int) -> str:
    """The file name of a picture."""
    return f"{chapter}-{plot.name}-{panel}.svg"


def plots_of(chapter: Chapter) -> Iterator[Plot]:
    """All plots of a chapter that are not inside a fold."""
    for section in chapter.sections:
        yield from (block for block in section.blocks if isinstance(block, Plot))


def _chapter(chapter: Chapter, number: int, pictures: str) -> Iterator[str]:
    yield f"## {_plain(chapter.title)}"
    yield _plain(chapter.lead)
    for section in chapter.sections:
        parts = [part for block in section.blocks for part in _block(block, number, pictures)]
        if parts:
            yield f"### {_plain(section.title)}"
            yield from parts


def _block(block: Block, number: int, pictures: str) -> Iterator[str]:
    match block:
        case TextBlock(text):
            yield _plain(text)
        case ListBlock(items):
            if items:
                yield "\n".join(f"- {_plain(item)}" for item in items)
        case TableBlock():
            yield from _table(block)
        case Plot():
            yield from _plot(block, number, pictures)
        case Fold(title, blocks):
            parts = [part for inner in blocks for part in _block(inner, number, pictures)]
            if parts:
                yield f"**{_plain(title)}**"
                yield from parts
        case QuestionBlock() | DialogueBlock():
            yield from _conversation(block)


def _conversation(block: QuestionBlock | DialogueBlock) -> Iterator[str]:
    if isinstance(block, QuestionBlock):
        yield f"> {_plain(block.question)}"
    yield "\n".join(_reply(one) for one in block.replies)


def _plot(plot: Plot, number: int, pictures: str) -> Iterator[str]:
    for place, panel in enumerate(plot.panels, 1):
        if panel.svg:
            yield f"![{_plain(panel.alt)}]({pictures}/{picture_name(number, plot, place)})"
    if not all(panel.svg for panel in plot.panels):
        yield _plain(ADVICE)
    if plot.note:
        yield _plain(plot.note)
    yield from _table(plot.table)


def _table(table: TableBlock) -> Iterator[str]:
    if table.caption:
        yield _plain(table.caption)
    rows = ([cell.replace("<", "&lt;") for cell in row] for row in table.rows)
    yield markdown_table(table.heads, rows, words=table.words).rstrip()


def _reply(one: ReplyBlock) -> str:
    verdicts = "; ".join(f"{verdict.measure} {verdict.value}" for verdict in one.verdicts)
    notes = " · ".join(filter(None, (*one.marks, verdicts)))
    asked = f" (asked: {_plain(one.heading)})" if one.heading else ""
    return f"- **{_plain(one.by)}**{asked}: {_plain(one.text)}" + (f" — {_plain(notes)}" if notes else "")


def _plain(text: str) -> str:
    return one_line(text).translate(_MARKS)

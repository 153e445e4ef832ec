"""The lines of a table in the text of a message."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from textual.content import Content

_BETWEEN = " │ "
_UNDER_THE_HEAD, _CROSSING = "─", "─┼─"


class TableCell(NamedTuple):
    """A cell of a table."""

    pieces: Sequence[tuple[str, str] | Content]
    to_the_right: bool
    """Whether the text stands at the right of the column."""


def table_lines(rows: Sequence[Sequence[TableCell]], *, rule: str) -> list[list[tuple[str, str] | Content]]:
    """The lines of a table, with its first row as the head.

    Args:
        rows: the cells.
        rule: the style of the lines between them.
    """
    texts = [[Content.assemble(*cell.pieces) for cell in row] for row in rows]
    widths = [
        max(text.cell_length for text in column) for column in zip_longest(*texts, fillvalue=Content(""))
    ]
    lines = [_row_line(row, contents, widths, rule) for row, contents in zip(rows, texts, strict=True)]
    under = _CROSSING.join(_UNDER_THE_HEAD * width for width in widths)
    return [lines[0], [(under, rule)], *lines[1:]]


def _row_line(
    row: Sequence[TableCell], texts: Sequence[Content], widths: Sequence[int], rule: str
) -> list[tuple[str, str] | Content]:
    line: list[tuple[str, str] | Content] = []
    for cell, text, width in zip(row, texts, widths, strict=False):
        if line:
            line.append((_BETWEEN, rule))
        blank = (" " * (width - text.cell_length), "")
        line += [blank, text] if cell.to_the_right else [text, blank]
    return line

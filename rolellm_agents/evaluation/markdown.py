"""Tables in Markdown."""

from collections.abc import Iterable, Sequence

from rolellm_agents.text import one_line

_ESCAPED = str.maketrans({"|": "\\|", "\\": "\\\\"})


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1) -> str:
    """A table with its end of line, whatever the cells hold.

    Args:
        columns: the heads.
        rows: cells, as many as there are columns.
        words: columns at the left that hold words; the others hold figures and stand to the right.
    """
    marks = ["---" if place < words else "---:" for place in range(len(columns))]
    lines = [columns, marks, *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(text: str) -> str:
    return one_line(text).translate(_ESCAPED)

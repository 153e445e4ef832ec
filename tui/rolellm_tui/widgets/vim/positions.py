"""Positions in a text, and steps from one to the next, as Vim makes them.

A position is a row and a column. The column of a line's end is one more than that of its last character.
"""

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len

_SCRIPTS = (
    (0x3040, 0x309F),  # hiragana
    (0x30A0, 0x30FF),  # katakana
    (0x3400, 0x9FFF),  # Chinese characters
    (0xAC00, 0xD7A3),  # hangul
)
"""Scripts whose characters form words of their own, as in Vim."""
_WORD, _PUNCTUATION = 2, 1


class Position(NamedTuple):
    """A place in a text."""

    row: int
    column: int


Lines = Sequence[str]


def kind_of(lines: Lines, position: Position) -> int:
    """The kind of character at a position: 0 for blanks and the ends of lines, another for each sort."""
    line = lines[position.row]
    if position.column >= len(line) or line[position.column].isspace():
        return 0
    character = line[position.column]
    for kind, (first, last) in enumerate(_SCRIPTS, _WORD + 1):
        if first <= ord(character) <= last:
            return kind
    return _WORD if character.isalnum() or character == "_" else _PUNCTUATION


def after(lines: Lines, position: Position) -> Position | None:
    """The next position, which may be the end of the line; None at the end of the text."""
    if position.column < len(lines[position.row]):
        return Position(position.row, position.column + 1)
    return Position(position.row + 1, 0) if position.row + 1 < len(lines) else None


def before(lines: Lines, position: Position) -> Position | None:
    """The previous position, which may be the end of a line; None at the start of the text."""
    if position.column:
        return Position(position.row, position.column - 1)
    return Position(position.row - 1, len(lines[position.row - 1])) if position.row else None


def first_letter(line: str) -> int:
    """The column of the first character that is no blank; of the last one if all are blank."""
    column = len(line) - len(line.lstrip())
    return min(column, max(0, len(line) - 1))


def cell_of(line: str, column: int) -> int:
    """The cell of the screen in which a column begins, since some characters are two cells wide."""
    return cell_len(line[:column])


def column_at(line: str, cell: int) -> int:
    """The column of the character in a cell; of the last one behind the line's end."""
    cells = 0
    for column, character in enumerate(line):
        cells += cell_len(character)
        if cells > cell:
            return column
    return max(0, len(line) - 1)


def is_empty_line(lines: Lines, position: Position) -> bool:
    """Whether a position is on an empty line."""
    return not lines[position.row]

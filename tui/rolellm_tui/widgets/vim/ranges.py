"""What an operator takes: a range of characters or of whole lines."""

from dataclasses import dataclass

from rolellm_tui.widgets.vim.motions import Motion
from rolellm_tui.widgets.vim.positions import Lines, Position


@dataclass(frozen=True)
class TextRange:
    """A part of a text, without the position `end`; of whole lines with `whole_lines`."""

    start: Position
    end: Position
    whole_lines: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing in it."""
        return not self.whole_lines and self.start == self.end

    def text(self, lines: Lines) -> str:
        """The text in the range, without the last line break of whole lines."""
        if self.whole_lines:
            return "\n".join(lines[self.start.row : self.end.row + 1])
        if self.start.row == self.end.row:
            return lines[self.start.row][self.start.column : self.end.column]
        first, last = lines[self.start.row][self.start.column :], lines[self.end.row][: self.end.column]
        return "\n".join((first, *lines[self.start.row + 1 : self.end.row], last))


def lines_from(row: int, last: int) -> TextRange:
    """Whole lines, from `row` to `last`."""
    return TextRange(Position(row, 0), Position(last, 0), whole_lines=True)


def operated(lines: Lines, cursor: Position, motion: Motion, *, deletes: bool) -> TextRange:
    """What an operator takes between the cursor and the end of a motion.

    Args:
        lines: the text.
        cursor: where the motion begins.
        motion: the motion.
        deletes: whether the operator is `d`, which takes whole lines sooner.
    """
    start, end = sorted((cursor, motion.to))
    if motion.reach == "lines":
        return lines_from(start.row, end.row)
    if motion.reach == "exclusive" and end.column == 0 and end.row > start.row:
        # As in Vim: a motion to the start of a line ends with the line before.
        if _is_in_indent(lines, start):
            return lines_from(start.row, end.row - 1)
        end = Position(end.row - 1, len(lines[end.row - 1]))
    elif motion.reach == "inclusive":
        end = Position(end.row, min(end.column + 1, len(lines[end.row])))
    rest_is_blank = not lines[end.row][end.column :].strip()
    if deletes and end.row > start.row and rest_is_blank and _is_in_indent(lines, start):
        return lines_from(start.row, end.row)
    return TextRange(start, end)


def _is_in_indent(lines: Lines, place: Position) -> bool:
    return not lines[place.row][: place.column].strip()

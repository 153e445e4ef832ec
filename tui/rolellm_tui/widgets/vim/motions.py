"""The motions of Vim's normal mode: where they lead, and what an operator takes on the way."""

from dataclasses import dataclass
from typing import Literal

from rolellm_tui.widgets.vim.command import VimCommand
from rolellm_tui.widgets.vim.positions import Lines, Position, column_at, first_letter, kind_of
from rolellm_tui.widgets.vim.words import next_word, previous_word, word_end

Reach = Literal["exclusive", "inclusive", "lines"]
"""Whether an operator takes the characters before the end, those up to it, or whole lines."""
LINE_END = 1_000_000
"""The wanted cell after `$`: the end of any line."""


@dataclass(frozen=True)
class Motion:
    """Where a motion leads."""

    to: Position
    reach: Reach = "exclusive"
    wanted: int | None = None
    """The cell that `j` and `k` try to return to; None for the one that was reached."""
    fails: bool = False
    """Whether it moves the cursor, but is nothing to operate on."""


@dataclass(frozen=True)
class Find:
    """A search for a character in the line, which `;` and `,` repeat."""

    letter: str
    backwards: bool
    till: bool
    """Whether the search stops before the character."""


def motion(
    lines: Lines, start: Position, wanted: int, command: VimCommand, last_find: Find | None
) -> Motion | None:
    """Where a command's motion leads, or None if it fails.

    Args:
        lines: the text.
        start: the position of the cursor.
        wanted: the cell of the screen that `j` and `k` try to return to.
        command: with the motion, its count and its operator.
        last_find: the search that `;` and `,` repeat.
    """
    times, line = command.times, lines[start.row]
    match command.name:
        case "h":
            return Motion(Position(start.row, max(0, start.column - times)))
        case "l":
            return Motion(Position(start.row, min(len(line), start.column + times)))
        case "0":
            return Motion(Position(start.row, 0))
        case "^":
            return Motion(Position(start.row, first_letter(line)))
        case "$":
            return _line_end(lines, start, times)
        case "j" | "k":
            return _vertical(lines, start, wanted, times if command.name == "j" else -times)
        case "gg" | "G":
            last = len(lines)
            row = min(last, command.count or (last if command.name == "G" else 1)) - 1
            return Motion(Position(row, first_letter(lines[row])), "lines")
        case "w" | "b" | "e":
            return _words(lines, start, command)
        case _:
            return _found(line, start, command, last_find)


def find_of(command: VimCommand) -> Find | None:
    """The search that a command begins, if it begins one."""
    if command.name not in ("f", "F", "t", "T"):
        return None
    return Find(command.letter, backwards=command.name in "FT", till=command.name in "tT")


def _line_end(lines: Lines, start: Position, times: int) -> Motion | None:
    if times > 1 and start.row + 1 >= len(lines):
        return None
    row = min(start.row + times - 1, len(lines) - 1)
    return Motion(Position(row, max(0, len(lines[row]) - 1)), "inclusive", LINE_END)


def _vertical(lines: Lines, start: Position, wanted: int, step: int) -> Motion | None:
    row = max(0, min(start.row + step, len(lines) - 1))
    if row == start.row:
        return None
    return Motion(Position(row, column_at(lines[row], wanted)), "lines", wanted)


def _words(lines: Lines, start: Position, command: VimCommand) -> Motion:
    if command.name == "b":
        place, succeeds = previous_word(lines, start, command.times)
        return Motion(place, fails=not succeeds)
    if command.name == "e":
        return Motion(word_end(lines, start, command.times), "inclusive")
    if command.operator == "c" and kind_of(lines, start):
        return Motion(word_end(lines, start, command.times, stays=True), "inclusive")
    return Motion(next_word(lines, start, command.times, in_line=bool(command.operator)))


def _found(line: str, start: Position, command: VimCommand, last: Find | None) -> Motion | None:
    find, repeats = find_of(command), command.name in (";", ",")
    if repeats:
        find = last
    if find is None:
        return None
    backwards = find.backwards != (command.name == ",")
    step = -1 if backwards else 1
    column = start.column
    # A repeated `t` would stop where it is.
    skips = repeats and find.till and command.times == 1
    for number in range(command.times):
        column += step * (2 if skips and number == 0 else 1)
        while 0 <= column < len(line) and line[column] != find.letter:
            column += step
        if not 0 <= column < len(line):
            return None
    if find.till:
        column -= step
    return Motion(Position(start.row, column), "exclusive" if backwards else "inclusive")

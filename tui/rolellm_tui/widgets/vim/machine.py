"""Vim's normal and insert mode as a function of a state and a key.

What is typed in insert mode is left to the text area, which tells the state the text and the cursor.
"""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from rolellm_tui.widgets.vim.command import VimCommand, parsed
from rolellm_tui.widgets.vim.motions import Find, Motion, find_of, motion
from rolellm_tui.widgets.vim.positions import Position, cell_of, first_letter
from rolellm_tui.widgets.vim.ranges import TextRange, lines_from, operated

Mode = Literal["normal", "insert"]
_MOST_UNDONE = 200
"""Changes that can be undone."""


class Register(NamedTuple):
    """The text that `p` puts."""

    text: str
    whole_lines: bool


_START = Position(0, 0)
_NOTHING = Register("", whole_lines=False)


class Snapshot(NamedTuple):
    """A text before a change, and the cursor."""

    lines: tuple[str, ...]
    cursor: Position


@dataclass(frozen=True)
class VimState:
    """A text in Vim."""

    lines: tuple[str, ...] = ("",)
    cursor: Position = _START
    mode: Mode = "insert"
    typed: str = ""
    """The keys of an unfinished command."""
    wanted: int = 0
    """The cell of the screen that `j` and `k` try to return to."""
    register: Register = _NOTHING
    find: Find | None = None
    undone: tuple[Snapshot, ...] = ()
    """What `Ctrl+R` restores, the next one last."""
    done: tuple[Snapshot, ...] = ()
    """What `u` restores, the next one last."""
    before_insert: Snapshot | None = None
    """The text before insert mode began; its changes are undone together."""

    @property
    def text(self) -> str:
        """The whole text."""
        return "\n".join(self.lines)


def snapshot(state: VimState) -> Snapshot:
    """The text and the cursor of a state."""
    return Snapshot(state.lines, state.cursor)


def state_of(state: VimState, text: str, cursor: tuple[int, int]) -> VimState:
    """The state with the text and the cursor of the text area, where others may have changed both."""
    lines, place = tuple(text.split("\n")), Position(*cursor)
    if state.mode == "insert":
        return replace(state, lines=lines, cursor=place)
    if lines != state.lines:
        state = replace(_kept(state, snapshot(state)), lines=lines)
    return state if place == state.cursor else _at(state, place)


def left_insert(state: VimState) -> VimState:
    """Normal mode, after Escape."""
    before, lines = state.before_insert, state.lines
    place = Position(state.cursor.row, max(0, state.cursor.column - 1))
    left = replace(state, mode="normal", typed="", before_insert=None)
    if before is not None and before.lines != lines:
        left = _kept(left, before)
    return _at(left, place)


def pressed(state: VimState, key: str) -> VimState:
    """The state after a key in normal mode.

    Args:
        state: the state before.
        key: a character, or `ctrl+r`.
    """
    if key == "ctrl+r":
        return replace(_restored(state, forwards=True), typed="")
    typed = state.typed + key
    command = parsed(typed)
    if command == "unfinished":
        return replace(state, typed=typed)
    state = replace(state, typed="")
    if command == "unknown":
        return state
    return _done(state, command)


def _done(state: VimState, command: VimCommand) -> VimState:
    """Run a command."""
    match command.name:
        case "x" | "X" | "D" | "C" | "s" if not command.operator:
            return _done(state, _LONG_FORMS[command.name](command))
        case "Y" | "S" if not command.operator:
            letter: Literal["y", "c"] = "y" if command.name == "Y" else "c"
            return _done(state, replace(command, name=letter, operator=letter))
        case "i" | "a" | "I" | "A" | "o" | "O":
            return _inserting(state, command.name)
        case "p" | "P":
            return _put(state, command)
        case "r":
            return _replaced(state, command)
        case "u":
            for _ in range(command.times):
                state = _restored(state, forwards=False)
            return state
    if command.name == command.operator:
        return _operated_on_lines(state, command)
    return _moved(state, command)


_LONG_FORMS = {
    "x": lambda command: replace(command, name="l", operator="d"),
    "X": lambda command: replace(command, name="h", operator="d"),
    "s": lambda command: replace(command, name="l", operator="c"),
    "D": lambda command: replace(command, name="$", operator="d"),
    "C": lambda command: replace(command, name="$", operator="c"),
}
"""The commands that stand for an operator with a motion."""


# Motions and operators


def _moved(state: VimState, command: VimCommand) -> VimState:
    where = motion(state.lines, state.cursor, state.wanted, command, state.find)
    state = replace(state, find=find_of(command) or state.find)
    if where is None:
        return state
    if not command.operator or where.fails:
        moved = _at(state, where.to)
        return moved if where.wanted is None else replace(moved, wanted=where.wanted)
    taken = operated(state.lines, state.cursor, where, deletes=command.operator == "d")
    return _operated(state, command, taken, where)


def _operated_on_lines(state: VimState, command: VimCommand) -> VimState:
    """`dd`, `cc` and `yy`."""
    row, last = state.cursor.row, len(state.lines) - 1
    if command.times > 1 and row == last:
        return state
    taken = lines_from(row, min(last, row + command.times - 1))
    return _operated(state, command, taken, Motion(state.cursor))


def _operated(state: VimState, command: VimCommand, taken: TextRange, where: Motion) -> VimState:
    register = Register(taken.text(state.lines), taken.whole_lines)
    if command.operator == "y":
        start = min(state.cursor, where.to) if taken.whole_lines else taken.start
        return _at(replace(state, register=register), start)
    if not taken.is_empty or (where.reach == "inclusive" and command.operator == "c"):
        state = replace(state, register=register)
    before = Snapshot(state.lines, _undo_cursor(state.cursor, where, taken, command))
    if command.operator == "c":
        emptied = replace(state, lines=_without(state.lines, taken, keeps_line=True), cursor=taken.start)
        return replace(emptied, mode="insert", before_insert=before)
    if taken.is_empty:
        return state
    state = _kept(state, before)
    lines = _without(state.lines, taken)
    start = taken.start
    if taken.whole_lines:
        row = min(start.row, len(lines) - 1)
        start = Position(row, first_letter(lines[row]))
    return _at(replace(state, lines=lines), start)


def _undo_cursor(cursor: Position, where: Motion, taken: TextRange, command: VimCommand) -> Position:
    """Where the cursor is after the operator was undone."""
    if not taken.whole_lines:
        return taken.start
    # Vim changes the first of several lines last, from the second one.
    row = min(taken.start.row + (command.operator == "c"), taken.end.row)
    return Position(row, min(cursor, where.to).column)


def _without(lines: tuple[str, ...], taken: TextRange, *, keeps_line: bool = False) -> tuple[str, ...]:
    """The lines without a range; of whole lines, an empty one stays if `keeps_line`."""
    start, end = taken.start, taken.end
    if taken.whole_lines:
        left = (*lines[: start.row], *([""] if keeps_line else []), *lines[end.row + 1 :])
        return left or ("",)
    joined = lines[start.row][: start.column] + lines[end.row][end.column :]
    return (*lines[: start.row], joined, *lines[end.row + 1 :])


# Inserting, putting and replacing


def _inserting(state: VimState, name: str) -> VimState:
    """Insert mode, where a command begins it."""
    (row, column), lines = state.cursor, state.lines
    line = lines[row]
    match name:
        case "a":
            column = min(len(line), column + 1)
        case "I":
            column = len(line) - len(line.lstrip())
        case "A":
            column = len(line)
        case "o" | "O":
            row += name == "o"
            lines, column = (*lines[:row], "", *lines[row:]), 0
    place = Position(row, column)
    before = Snapshot(state.lines, state.cursor if name in "oO" else place)
    return replace(state, lines=lines, cursor=place, mode="insert", before_insert=before)


def _put(state: VimState, command: VimCommand) -> VimState:
    text, whole_lines = state.register
    if not text and not whole_lines:
        return state
    (row, column), lines = state.cursor, state.lines
    changed = _kept(state, snapshot(state))
    after = command.name == "p"
    if whole_lines:
        row += after
        new = text.split("\n") * command.times
        put = replace(changed, lines=(*lines[:row], *new, *lines[row:]))
        return _at(put, Position(row, first_letter(new[0])))
    line = lines[row]
    column += after and bool(line)
    joined = line[:column] + text * command.times + line[column:]
    put = replace(changed, lines=(*lines[:row], *joined.split("\n"), *lines[row + 1 :]))
    end = column if "\n" in text else column + len(text) * command.times - 1
    return _at(put, Position(row, end))


def _replaced(state: VimState, command: VimCommand) -> VimState:
    (row, column), lines = state.cursor, state.lines
    line, end = lines[row], column + command.times
    if end > len(line):
        return state
    changed = line[:column] + command.letter * command.times + line[end:]
    state = _kept(state, snapshot(state))
    return _at(replace(state, lines=(*lines[:row], changed, *lines[row + 1 :])), Position(row, end - 1))


# Undoing


def _kept(state: VimState, before: Snapshot) -> VimState:
    """The state with a change that `u` undoes."""
    return replace(state, done=(*state.done, before)[-_MOST_UNDONE:], undone=())


def _restored(state: VimState, *, forwards: bool) -> VimState:
    """The state with a change undone, or made again."""
    stack = state.undone if forwards else state.done
    if not stack:
        return state
    *left, snapshot = stack
    kept = Snapshot(state.lines, snapshot.cursor)
    if forwards:
        state = replace(state, undone=tuple(left), done=(*state.done, kept))
    else:
        state = replace(state, done=tuple(left), undone=(*state.undone, kept))
    return _at(replace(state, lines=snapshot.lines), snapshot.cursor)


def _at(state: VimState, place: Position) -> VimState:
    """The state with the cursor at a place, on a character if its line has one."""
    row = max(0, min(place.row, len(state.lines) - 1))
    line = state.lines[row]
    column = max(0, min(place.column, len(line) - 1))
    return replace(state, cursor=Position(row, column), wanted=cell_of(line, column))

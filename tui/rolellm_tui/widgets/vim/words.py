"""Vim's motions by words, with their exceptions at the ends of lines."""

from rolellm_tui.widgets.vim.positions import Lines, Position, after, before, is_empty_line, kind_of


def next_word(lines: Lines, start: Position, count: int, *, in_line: bool) -> Position:
    """The start of the next word; an empty line is a word.

    Args:
        lines: the text.
        start: where the motion begins.
        count: how many words.
        in_line: whether the last word ends with its line, as it does for operators.
    """
    place = start
    for left in range(count - 1, -1, -1):
        stays = in_line and left == 0
        kind, is_last = kind_of(lines, place), place.row == len(lines) - 1
        step = after(lines, place)
        if step is None:
            return place
        crossed, place = _ends_line(lines, place, step), step
        if crossed and (is_last or stays):
            return place
        while kind and kind_of(lines, place) == kind:
            step = after(lines, place)
            if step is None:
                return place
            crossed, place = _ends_line(lines, place, step), step
            if crossed and stays:
                return place
        while kind_of(lines, place) == 0 and not is_empty_line(lines, place):
            step = after(lines, place)
            if step is None:
                return place
            crossed, place = _ends_line(lines, place, step), step
            if crossed and (is_last or stays):
                return place
    return place


def _ends_line(lines: Lines, place: Position, step: Position) -> bool:
    """Whether a step leads to the end of a line or into the next one."""
    return step.row != place.row or step.column >= len(lines[step.row])


def previous_word(lines: Lines, start: Position, count: int) -> tuple[Position, bool]:
    """The start of the previous word, and whether the motion succeeds; an empty line is a word.

    It fails if there are words to go when it has come to the start of the text.
    """
    place = start
    for _ in range(count):
        step = before(lines, place)
        if step is None:
            return place, False
        place = step
        while kind_of(lines, place) == 0 and not is_empty_line(lines, place):
            step = before(lines, place)
            if step is None:
                return place, True
            place = step
        if kind := kind_of(lines, place):
            while (step := before(lines, place)) and kind_of(lines, step) == kind:
                place = step
            if step is None:
                return place, True
    return place, True


def word_end(lines: Lines, start: Position, count: int, *, stays: bool = False) -> Position:
    """The last character of this word or of the next one.

    Args:
        lines: the text.
        start: where the motion begins.
        count: how many words.
        stays: whether the end of a word is its own end, as it is for `cw`.
    """
    place = start
    for number in range(count):
        kind, step = kind_of(lines, place), after(lines, place)
        if step is None:
            return place
        if kind and kind_of(lines, step) == kind:
            place = _last_of_kind(lines, step)
        elif not (stays and number == 0) or kind == 0:
            while kind_of(lines, step) == 0:
                further = after(lines, step)
                if further is None:
                    return step
                step = further
            place = _last_of_kind(lines, step)
    return place


def _last_of_kind(lines: Lines, place: Position) -> Position:
    kind = kind_of(lines, place)
    while (step := after(lines, place)) and kind_of(lines, step) == kind:
        place = step
    return place

"""Bars of block characters: one amount to an eighth of a cell, or several beside each other."""

from collections.abc import Sequence

_EIGHTHS = " ▏▎▍▌▋▊▉"


def bar(share: float, width: int) -> str:
    """A bar that is filled from the left.

    Args:
        share: how far, from 0 to 1; what is beyond counts as the end.
        width: in cells.
    """
    cells, eighth = divmod(round(min(1.0, max(0.0, share)) * width * 8), 8)
    filled = "█" * cells + (_EIGHTHS[eighth] if eighth else "")
    return filled.ljust(width)


def cells_of(amounts: Sequence[int], total: int, width: int) -> list[int]:
    """How many cells of a bar each amount gets: its share, and one at least if there is something of it.

    Args:
        amounts: none below 0.
        total: what the whole bar stands for; less than the amounts together counts as these.
        width: of the bar in cells.
    """
    whole = max(total, sum(amounts), 1)
    exact = [amount * width / whole for amount in amounts]
    there = sorted((place for place, amount in enumerate(amounts) if amount), key=lambda p: -amounts[p])
    cells = [0] * len(amounts)
    for place in there[:width]:
        cells[place] = 1
    wanted = min(width, round(sum(exact)))
    while sum(cells) < wanted:
        short = max(there, key=lambda place: exact[place] - cells[place])
        cells[short] += 1
    return cells

"""Bars of block characters, for one amount or several."""

from collections.abc import Sequence

_EIGHTHS = " ▏▎▍▌▋▊▉"


def bar(share: float, width: int) -> str:
    """A bar with a resolution of 1/8 cell.

    Args:
        share: from 0 to 1; other values are clamped.
        width: in cells.
    """
    cells, eighth = divmod(round(min(1.0, max(0.0, share)) * width * 8), 8)
    filled = "█" * cells + (_EIGHTHS[eighth] if eighth else "")
    return filled.ljust(width)


def cells_of(amounts: Sequence[int], total: int, width: int) -> list[int]:
    """Number of cells for each amount: proportional, and at least one if it is not 0.

    Args:
        amounts: non-negative.
        total: of the bar; at least the sum of the amounts.
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

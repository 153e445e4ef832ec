"""Bars of block characters, for one amount or several."""

from collections.abc import Sequence

_EIGHTHS = " ▏▎▍▌▋▊▉"


def bar(share: float, width: int) -> str:
    """Draw a bar with a resolution of 1/8 cell.

    Args:
        share: the filled share, from 0 to 1; other values are clamped.
        width: the width of the complete bar in cells.
    """
    cells, eighth = divmod(round(min(1.0, max(0.0, share)) * width * 8), 8)
    filled = "█" * cells + (_EIGHTHS[eighth] if eighth else "")
    return filled.ljust(width)


def cells_of(amounts: Sequence[int], total: int, width: int) -> list[int]:
    """The number of cells for each amount: proportional, and at least one unless the amount is 0.

    Args:
        amounts: non-negative amounts.
        total: the amount that the complete bar represents; at least the sum of the amounts.
        width: the width of the bar in cells.
    """
    full = max(total, sum(amounts), 1)
    exact = [amount * width / full for amount in amounts]
    positive = sorted(
        (index for index, amount in enumerate(amounts) if amount), key=lambda index: -amounts[index]
    )
    cells = [0] * len(amounts)
    for index in positive[:width]:
        cells[index] = 1
    target = min(width, round(sum(exact)))
    while sum(cells) < target:
        short = max(positive, key=lambda index: exact[index] - cells[index])
        cells[short] += 1
    return cells

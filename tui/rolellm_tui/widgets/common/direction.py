"""Texts of scripts that are written from right to left are aligned to the right.

The order of the characters in a line is left to the terminal.
"""

import re
import unicodedata
from collections.abc import Iterator

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.content import Content
from textual.css.styles import RulesMap
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual

_MAY_BE_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
_ISOLATES = {"LRI", "RLI", "FSI"}
_TABLE = "│"
"""Between the columns of a drawn table, whose lines stay below each other."""


def is_right_to_left(line: str) -> bool | None:
    """The direction of a line by its first strong character, outside of isolates; None if it has none.

    These are rules P2 and P3 of the Unicode Bidirectional Algorithm.
    """
    depth = 0
    for character in line:
        direction = unicodedata.bidirectional(character)
        if direction in _ISOLATES:
            depth += 1
        elif direction == "PDI":
            depth = max(0, depth - 1)
        elif not depth and direction in ("L", "R", "AL"):
            return direction != "L"
    return None


def directions(lines: list[str]) -> Iterator[bool]:
    """Whether each line is written from right to left; one without letters is as the line before it."""
    before = False
    for line in lines:
        if _TABLE in line:
            yield False
            continue
        found = is_right_to_left(line)
        before = (before and bool(line.strip())) if found is None else found
        yield before


def aligned(content: Content) -> Visual:
    """The content, with its lines from right to left at the right."""
    return _Aligned(content) if _MAY_BE_RIGHT_TO_LEFT.search(content.plain) else content


def _at_the_right(strip: Strip, width: int, blank: RichStyle) -> Strip:
    text = strip.text
    free = width - strip.cell_length + len(text) - len(text.rstrip(" "))
    used = strip.crop(0, width - free)
    return Strip([Segment(" " * free, blank), *used], width) if free > 0 else strip


class _Aligned(Visual):
    """A content whose lines are not all on the same side."""

    def __init__(self, content: Content) -> None:
        self._content = content

    def render_strips(
        self, width: int, height: int | None, style: Style, options: RenderOptions
    ) -> list[Strip]:
        strips = self._content.render_strips(width, height, style, options)
        rows = self._rows(options.rules, width)
        blank = style.background_style.rich_style
        return [
            _at_the_right(strip, width, blank) if right_to_left else strip
            for strip, right_to_left in zip(strips, rows, strict=False)
        ]

    def _rows(self, rules: RulesMap, width: int) -> Iterator[bool]:
        """Whether each drawn row belongs to a line from right to left."""
        lines = self._content.split(allow_blank=True)
        for line, right_to_left in zip(lines, directions([line.plain for line in lines]), strict=True):
            yield from [right_to_left] * max(1, line.get_height(rules, width))

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        return self._content.get_optimal_width(rules, container_width)

    def get_minimal_width(self, rules: RulesMap) -> int:
        return self._content.get_minimal_width(rules)

    def get_height(self, rules: RulesMap, width: int) -> int:
        return self._content.get_height(rules, width)

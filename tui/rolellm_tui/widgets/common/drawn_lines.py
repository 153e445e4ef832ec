"""A row of an option list whose lines are drawn only when they come into view."""

from collections.abc import Callable, Iterable

from textual.content import Content
from textual.css.styles import RulesMap
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual

MUTED = "$foreground-muted"
"""Unlike $text-muted, this colour does not depend on the background."""


class DrawnLines(Visual):
    """A row with a known number of lines, so that a list of thousands of rows needs no layout of each."""

    def __init__(self, count: int, draw: Callable[[int], Iterable[Content]]) -> None:
        """Prepare the row.

        Args:
            count: the number of lines.
            draw: returns the lines for a width in cells; longer lines are truncated.
        """
        self._count = count
        self._draw = draw

    def get_height(self, rules: RulesMap, width: int) -> int:
        """The number of lines."""
        return self._count

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        """The width of the container."""
        return container_width

    def render_strips(
        self, width: int, height: int | None, style: Style, options: RenderOptions
    ) -> list[Strip]:
        """Draw the lines."""
        return [
            strip
            for line in self._draw(width)
            for strip in line.truncate(width, ellipsis=True).render_strips(width, 1, style, options)
        ]

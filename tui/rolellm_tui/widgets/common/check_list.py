"""A list of options that are on or off, which can be told without colours."""

from rich.segment import Segment
from textual.strip import Strip
from textual.widgets import SelectionList
from textual.widgets.option_list import OptionDoesNotExist

_ON, _OFF = "☑", "☐"
_MARK_CELLS = 3
"""Width of the mark, which Textual draws as three segments of one cell."""


class CheckList(SelectionList[str]):
    """A selection list that marks options with ☑ and ☐. Textual's own mark is the same in both cases."""

    def render_line(self, y: int) -> Strip:
        """Draw one line of the list."""
        strip = super().render_line(y)
        try:
            option = self.get_option_at_index(self.scroll_offset.y + y)
        except OptionDoesNotExist:
            return strip
        style = next((segment.style for segment in strip.crop(_MARK_CELLS)), None)
        meta = next((segment.style for segment in strip), None)
        mark = _ON if option.value in self.selected else _OFF
        # What a click means comes from Textual's mark; its colour is too faint.
        style = (meta + style) if style and meta else style
        return Strip([Segment(f" {mark} ", style), *strip.crop(_MARK_CELLS)], strip.cell_length)

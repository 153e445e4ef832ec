"""A box that is on or off, which can be told without colours."""

from textual.content import Content
from textual.widgets import Checkbox

_ON, _OFF = "☑", "☐"


class FlagBox(Checkbox):
    """Marks its state with ☑ and ☐. Textual's own mark is the same in both cases."""

    @property
    def _button(self) -> Content:
        style = self.get_visual_style("toggle--button")
        return Content.assemble((f" {_ON if self.value else _OFF} ", style))

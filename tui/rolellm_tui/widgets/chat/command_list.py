"""The list of commands above the prompt."""

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from rolellm_agents.text import one_line
from rolellm_tui.slash.completion import Completion


class CommandList(OptionList):
    """The completions of the command in the prompt; hidden if there are none. The prompt has the keys."""

    can_focus = False
    DEFAULT_CSS = """
    CommandList {
        display: none;
        height: auto;
        max-height: 8;
        margin: 0 2;
        border: none;
        background: $panel;
        text-wrap: nowrap;
        text-overflow: ellipsis;
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as all widgets name it
        """Create a hidden list."""
        super().__init__(id=id, markup=False)
        self._rows: Sequence[Completion] = ()
        self.is_chosen = False
        """Whether the user moved to the highlighted row."""

    @property
    def is_open(self) -> bool:
        """Whether the list is visible."""
        return bool(self._rows)

    @property
    def row(self) -> Completion | None:
        """The highlighted row."""
        place = self.highlighted
        return self._rows[place] if place is not None and place < len(self._rows) else None

    def show_rows(self, rows: Sequence[Completion]) -> None:
        """Replace the rows; without rows, the list is hidden."""
        self._rows, self.is_chosen = rows, False
        self.set_options([Option(_drawn(row)) for row in rows])
        self.highlighted = 0 if rows else None
        self.display = bool(rows)

    def move(self, step: int) -> None:
        """Highlight the next or the previous row."""
        self.is_chosen = True
        if step > 0:
            self.action_cursor_down()
        else:
            self.action_cursor_up()


def _drawn(row: Completion) -> Content:
    return Content.assemble((row.shown, "bold"), f"  {one_line(row.about)}" if row.about else "")

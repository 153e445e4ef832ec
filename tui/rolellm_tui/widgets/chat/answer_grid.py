"""A grid of answers: side by side if they fit, else in rows that scroll."""

from collections.abc import Sequence

from textual import events
from textual.binding import Binding
from textual.containers import Grid

from rolellm_tui.widgets.chat.answer_column import AnswerColumn
from rolellm_tui.widgets.chat.voice_form import VoiceChoice

NARROWEST = 36
"""Minimum width of a column, in cells."""
LOWEST = 12
"""Minimum height of a column, in lines."""
_PEEK = 6
"""Visible lines of the next row if not all fit."""


def columns_for(count: int, width: int) -> int:
    """The number of columns for `count` answers in `width` cells, chosen so that rows are even."""
    fit = max(1, width // NARROWEST)
    rows = -(-count // fit)
    return -(-count // rows)


class AnswerGrid(Grid):
    """Shows answers in columns. The arrow keys select an answer, and Space shows it alone."""

    DEFAULT_CSS = """
    AnswerGrid { overflow-y: auto; }
    AnswerGrid.alone AnswerColumn { display: none; }
    AnswerGrid.alone AnswerColumn.chosen { display: block; }
    """
    BINDINGS = [
        Binding("left", "choose(-1)", "‹", id="answers.left", tooltip="Previous answer.", show=False),
        Binding("right", "choose(1)", "›", id="answers.right", tooltip="Next answer.", show=False),
        Binding("space", "alone", "Alone", id="answers.alone", tooltip="Show this answer alone, or all."),
    ]

    def __init__(self, choices: Sequence[VoiceChoice]) -> None:
        """Create a column for each voice."""
        self.columns = [AnswerColumn(number, choice) for number, choice in enumerate(choices, 1)]
        super().__init__(*self.columns)
        self._chosen = 0

    @property
    def chosen(self) -> AnswerColumn:
        """The selected column."""
        return self.columns[self._chosen]

    def on_mount(self) -> None:
        """Select the first column."""
        self._choose(0)

    def on_resize(self) -> None:
        """Arrange the columns."""
        self._arrange()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Select the column that gets the focus by a click."""
        if isinstance(event.widget, AnswerColumn):
            self._mark(self.columns.index(event.widget))

    def action_choose(self, step: int) -> None:
        """Select another column, wrapping around."""
        self._choose((self._chosen + step) % len(self.columns))

    def action_alone(self) -> None:
        """Show the selected answer alone, or all answers again."""
        self.toggle_class("alone")
        self._arrange()

    def _choose(self, index: int) -> None:
        self._mark(index)
        self.columns[index].focus()

    def _mark(self, index: int) -> None:
        self._chosen = index
        for number, column in enumerate(self.columns):
            column.set_class(number == index, "chosen")

    def _arrange(self) -> None:
        count = 1 if self.has_class("alone") else len(self.columns)
        columns = columns_for(count, self.size.width)
        rows, height = -(-count // columns), self.size.height
        self.styles.grid_size_columns = columns
        fits = rows == 1 or height // rows >= LOWEST
        self.styles.grid_rows = "1fr" if fits else str(max(_PEEK, height - _PEEK))
        for column in self.columns:
            column.styles.column_span = 1
        # The last answer takes the rest of the last row.
        self.columns[-1].styles.column_span = 1 + -count % columns

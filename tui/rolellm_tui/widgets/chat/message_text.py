"""The text of a message, of which parts can be selected and copied as they were written."""

from textual.selection import Selection
from textual.widgets import Static

from rolellm_agents.text import plain
from rolellm_tui.widgets.chat.prose import prose
from rolellm_tui.widgets.chat.source_places import source_of
from rolellm_tui.widgets.common.direction import aligned


class MessageText(Static):
    """Shows Markdown. A selected part of it is copied as Markdown, and wrapped lines as one line."""

    def __init__(self, text: str) -> None:
        """Show a text."""
        self._content = prose(text)
        self._source = plain(text)
        super().__init__(aligned(self._content), classes="words", markup=False)

    def show(self, text: str) -> None:
        """Show another text."""
        self._content = prose(text)
        self._source = plain(text)
        self.update(aligned(self._content))

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The source of the selected part, and what separates it from the next message."""
        shown = self._content.plain
        lines = shown.split("\n")
        start, end = selection.start, selection.end
        first = 0 if start is None else _index(lines, start.y, start.x)
        last = len(shown) if end is None else _index(lines, end.y, end.x)
        return source_of(shown, self._source, first, last), "\n"


def _index(lines: list[str], row: int, column: int) -> int:
    """The place of a row and a column in the text of the lines."""
    if row >= len(lines):
        return sum(len(line) + 1 for line in lines) - 1
    return sum(len(line) + 1 for line in lines[:row]) + min(column, len(lines[row]))

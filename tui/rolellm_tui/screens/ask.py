"""A dialog that asks for text."""

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from rolellm_tui.widgets.common.after_typing import after_typing


class AskScreen(ModalScreen[str | None]):
    """Asks for several lines of text. Returns them, or None when cancelled."""

    CSS_PATH = "ask.tcss"
    AUTO_FOCUS = "TextArea"
    BINDINGS = [
        Binding("ctrl+s", "keep", "Keep", id="ask.keep", tooltip="Save the text.", priority=True),
        Binding("escape", "leave", "Leave", id="ask.leave", tooltip="Cancel.", priority=True),
    ]

    def __init__(self, title: str, text: str = "", *, hint: str = "") -> None:
        """Create the dialog.

        Args:
            title: the title of the dialog.
            text: the initial text.
            hint: a sentence below the title.
        """
        super().__init__()
        self._title = title
        self._text = text
        self._hint = hint

    def compose(self) -> ComposeResult:
        """Compose the dialog."""
        with Vertical(id="ask"):
            yield Static(self._title, id="ask-title", markup=False)
            if self._hint:
                yield Static(self._hint, id="ask-hint", markup=False)
            yield TextArea(self._text, soft_wrap=True)
            yield Static("Ctrl+S save · Escape cancel", id="ask-keys", markup=False)

    def on_mount(self) -> None:
        """Put the cursor at the end."""
        area = self.query_one(TextArea)
        area.move_cursor(area.document.end)

    def action_keep(self) -> None:
        """Return the text."""
        after_typing(self, lambda: self.dismiss(self.query_one(TextArea).text))

    def action_leave(self) -> None:
        """Cancel."""
        self.dismiss(None)

"""A few words from the person, over whatever is shown."""

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from rolellm_tui.widgets.common.after_typing import after_typing


class AskScreen(ModalScreen[str | None]):
    """Several lines of text; dismissed with them, or with None when nothing is to be changed."""

    CSS_PATH = "ask.tcss"
    AUTO_FOCUS = "TextArea"
    BINDINGS = [
        Binding("ctrl+s", "keep", "Keep", id="ask.keep", tooltip="Keep these words.", priority=True),
        Binding("escape", "leave", "Leave", id="ask.leave", tooltip="Change nothing.", priority=True),
    ]

    def __init__(self, title: str, text: str = "", *, hint: str = "") -> None:
        """Ask for text.

        Args:
            title: what is asked for.
            text: what stands there at first.
            hint: a sentence below the title.
        """
        super().__init__()
        self._title = title
        self._text = text
        self._hint = hint

    def compose(self) -> ComposeResult:
        """A small window."""
        with Vertical(id="ask"):
            yield Static(self._title, id="ask-title", markup=False)
            if self._hint:
                yield Static(self._hint, id="ask-hint", markup=False)
            yield TextArea(self._text, soft_wrap=True)
            yield Static("Ctrl+S keeps · Escape leaves it as it was", id="ask-keys", markup=False)

    def on_mount(self) -> None:
        """Write at the end."""
        area = self.query_one(TextArea)
        area.move_cursor(area.document.end)

    def action_keep(self) -> None:
        """Hand the words over."""
        after_typing(self, lambda: self.dismiss(self.query_one(TextArea).text))

    def action_leave(self) -> None:
        """Change nothing."""
        self.dismiss(None)

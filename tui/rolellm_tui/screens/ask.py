"""A dialog that asks for text."""

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from rolellm_tui.widgets.common.after_typing import after_typing
from rolellm_tui.widgets.common.writing_area import WritingArea

_KEYS = "Ctrl+S save · F10 your editor · Escape cancel"
_KEYS_IN_BROWSER = "Ctrl+S save · Escape cancel"
_UNSAVED = "Your changes are not saved: Ctrl+S saves them, Escape discards them."


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
        self._is_leaving = False
        self._title = title
        self._text = text
        self._hint = hint

    def compose(self) -> ComposeResult:
        """Compose the dialog."""
        with Vertical(id="ask"):
            yield Static(self._title, id="ask-title", markup=False)
            if self._hint:
                yield Static(self._hint, id="ask-hint", markup=False)
            yield WritingArea(self._text, soft_wrap=True)
            yield Static(self._keys, id="ask-keys", markup=False)

    @property
    def _keys(self) -> str:
        return _KEYS_IN_BROWSER if self.app.is_web else _KEYS

    def on_mount(self) -> None:
        """Put the cursor at the end."""
        area = self.query_one(TextArea)
        area.move_cursor(area.document.end)

    def action_keep(self) -> None:
        """Return the text."""
        after_typing(self, lambda: self.dismiss(self.query_one(TextArea).text))

    def action_leave(self) -> None:
        """Cancel; ask first if the text was changed."""
        after_typing(self, self._leave)

    def _leave(self) -> None:
        if self._is_leaving or self.query_one(TextArea).text == self._text:
            self.dismiss(None)
        else:
            self._is_leaving = True
            self._show_keys()

    @on(TextArea.Changed)
    def _go_on(self) -> None:
        """Who goes on writing after the question has answered it."""
        self._is_leaving = False
        self._show_keys()

    def _show_keys(self) -> None:
        keys = self.query_one("#ask-keys", Static)
        keys.update(_UNSAVED if self._is_leaving else self._keys)
        keys.set_class(self._is_leaving, "question")

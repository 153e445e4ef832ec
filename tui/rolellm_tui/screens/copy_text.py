"""Copy mode: the text of a message as it was written, to select a part of it with the keys."""

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from rolellm_tui.widgets.chat.code_blocks import code_blocks

_KEYS = "Shift+↑↓←→ select · Ctrl+A all · Tab next code block · Enter copy · Escape back"


class CopyArea(TextArea):
    """The text. Its keys run in the order in which they are pressed, which priority bindings do not."""

    BINDINGS = [
        Binding(
            "enter,ctrl+c",
            "screen.copy",
            "Copy",
            id="copy.copy",
            tooltip="Copy what is selected, or else the line.",
        ),
        Binding("tab", "screen.code(1)", "Code", id="copy.next", tooltip="Select the next code block."),
        Binding(
            "shift+tab",
            "screen.code(-1)",
            "Code before",
            id="copy.previous",
            tooltip="Select the code block before.",
        ),
        Binding("ctrl+a", "screen.everything", "All", id="copy.all", tooltip="Select all."),
        Binding("escape", "screen.leave", "Back", id="copy.leave", tooltip="Back."),
    ]


class CopyScreen(ModalScreen[str | None]):
    """Lets the user select a part of a text. Returns it, or None."""

    CSS_PATH = "copy_text.tcss"
    AUTO_FOCUS = "TextArea"
    VERTICAL_BREAKPOINTS = [(0, "-low"), (20, "-high")]

    def __init__(self, text: str) -> None:
        """Show a text."""
        super().__init__()
        self._text = text
        self._blocks = code_blocks(text)
        self._block: int | None = None
        """The number of the selected block."""

    def compose(self) -> ComposeResult:
        """Compose the text and the keys."""
        with Vertical(id="copy"):
            yield Static("Copy a part of the message", id="copy-title", markup=False)
            yield CopyArea(self._text, read_only=True, soft_wrap=True, show_cursor=True)
            yield Static(_KEYS, id="copy-keys", markup=False)

    @property
    def _area(self) -> TextArea:
        return self.query_one(TextArea)

    def action_copy(self) -> None:
        """Return what is selected, or else the line."""
        line = self._area.document.get_line(self._area.cursor_location[0])
        self.dismiss(self._area.selected_text or line)

    def action_code(self, step: int) -> None:
        """Select another block of code; behind the last one the first one follows."""
        if not self._blocks:
            self.query_one("#copy-title", Static).update("This message has no code block")
            return
        self._block = (0 if step > 0 else -1) if self._block is None else self._block + step
        self._block %= len(self._blocks)
        block, area = self._blocks[self._block], self._area
        area.move_cursor((block.first, 0))
        area.move_cursor((block.end - 1, len(area.document.get_line(block.end - 1))), select=True)
        self.query_one("#copy-title", Static).update(f"Code block {self._block + 1} of {len(self._blocks)}")

    def action_everything(self) -> None:
        """Select all."""
        self._area.select_all()

    def action_leave(self) -> None:
        """Go back without a copy."""
        self.dismiss(None)

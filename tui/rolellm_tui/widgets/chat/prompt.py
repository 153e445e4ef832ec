"""The input for lines of the user."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events
from textual.binding import Binding
from textual.message import Message

from rolellm_tui.widgets.vim.area import VimArea


class PromptInput(VimArea):
    """A text area of several lines: Enter sends, Shift+Enter or Ctrl+J inserts a line break.

    Up on the first line and Down on the last line recall earlier lines.
    """

    @dataclass
    class Opened(Message):
        """An input is there, and wants to know the user's choice of keys."""

        prompt: "PromptInput"

    @dataclass
    class Submitted(Message):
        """The user sends a line."""

        prompt: "PromptInput"
        text: str

        @property
        def control(self) -> "PromptInput":
            """The input that sent this Textual message."""
            return self.prompt

    BINDINGS = [
        Binding("enter", "send", "Send", id="prompt.send", tooltip="Send the line.", show=False),
        Binding(
            "shift+enter,ctrl+j",
            "break_line",
            "Line break",
            id="prompt.break",
            tooltip="Insert a line break.",
            show=False,
        ),
        Binding(
            "up", "earlier", "Earlier line", id="prompt.earlier", tooltip="Your earlier lines.", show=False
        ),
        Binding("down", "later", "Later line", id="prompt.later", tooltip="Your later lines.", show=False),
    ]

    _back = 0
    """Position in the history; 0 is the new text."""
    _own = ""

    def on_mount(self) -> None:
        """Tell the app."""
        self.post_message(self.Opened(self))

    @property
    def sent_lines(self) -> Sequence[str]:
        """Earlier lines, oldest first."""
        return ()

    async def _on_key(self, event: events.Key) -> None:
        # At once, not as bindings, which come after the letters that were typed meanwhile.
        match event.key:
            case "enter":
                self.action_send()
            case "shift+enter" | "ctrl+j":
                self.action_break_line()
            case "up":
                self.action_earlier()
            case "down":
                self.action_later()
            case _:
                await super()._on_key(event)
                return
        event.stop()
        event.prevent_default()

    def action_send(self) -> None:
        """Send the text."""
        # Letters that are typed before the screen takes the text stand after it.
        self.move_cursor(self.document.end)
        self.post_message(self.Submitted(self, self.text))

    def action_break_line(self) -> None:
        """Insert a line break."""
        self.insert("\n")

    def action_earlier(self) -> None:
        """Move the cursor up, or from the first line to the line sent before."""
        if self.cursor_location[0] == 0 and self._back < len(self.sent_lines):
            self._recall(self._back + 1)
        else:
            self.action_cursor_up()

    def action_later(self) -> None:
        """Move the cursor down, or from the last line to the line sent after."""
        if self._back and self.cursor_location[0] == self.document.line_count - 1:
            self._recall(self._back - 1)
        else:
            self.action_cursor_down()

    def take(self, sent: str) -> bool:
        """Remove a text that is sent; what was typed since stays.

        Returns:
            Whether the text was still there. Without it, it was taken before.
        """
        if not self.text.startswith(sent):
            return False
        self.put(self.text.removeprefix(sent))
        self._back = 0
        self.forget_vim()
        return True

    def _recall(self, back: int) -> None:
        if self._back == 0:
            self._own = self.text
        self._back = back
        self.put(self.sent_lines[-back] if back else self._own)

    def put(self, text: str) -> None:
        """Replace the text, with the cursor at its end."""
        self.text = text
        self.move_cursor(self.document.end)

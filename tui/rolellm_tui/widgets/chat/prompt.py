"""The input for lines of the user."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events
from textual.message import Message
from textual.widgets import TextArea


class PromptInput(TextArea):
    """A text area of several lines: Enter sends, Shift+Enter or Ctrl+J inserts a line break.

    Up on the first line and Down on the last line recall earlier lines.
    """

    @dataclass
    class Submitted(Message):
        """The user sends a line."""

        prompt: "PromptInput"
        text: str

        @property
        def control(self) -> "PromptInput":
            """The input that sent this Textual message."""
            return self.prompt

    _back = 0
    """Position in the history; 0 is the new text."""
    _own = ""

    @property
    def sent_lines(self) -> Sequence[str]:
        """Earlier lines, oldest first."""
        return ()

    async def _on_key(self, event: events.Key) -> None:
        match event.key:
            case "enter":
                self.post_message(self.Submitted(self, self.text))
            case "shift+enter" | "ctrl+j":
                self.insert("\n")
            case "up" if self.cursor_location[0] == 0 and self._back < len(self.sent_lines):
                self._recall(self._back + 1)
            case "down" if self._back and self.cursor_location[0] == self.document.line_count - 1:
                self._recall(self._back - 1)
            case _:
                await super()._on_key(event)
                return
        event.stop()
        event.prevent_default()

    def take(self) -> str:
        """Send the text and clear the input."""
        text, self.text = self.text, ""
        self._back = 0
        return text

    def _recall(self, back: int) -> None:
        if self._back == 0:
            self._own = self.text
        self._back = back
        self.text = self.sent_lines[-back] if back else self._own
        self.move_cursor(self.document.end)

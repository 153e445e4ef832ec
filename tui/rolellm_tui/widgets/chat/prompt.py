"""Where the person writes."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events
from textual.message import Message
from textual.widgets import TextArea


class PromptInput(TextArea):
    """A text area of several lines: Enter sends, Shift+Enter or Ctrl+J begins a new line.

    Up on the first line and Down on the last go through what was said before.
    """

    @dataclass
    class Submitted(Message):
        """The person wants to say this."""

        prompt: "PromptInput"
        text: str

        @property
        def control(self) -> "PromptInput":
            """The prompt it was written in."""
            return self.prompt

    @dataclass
    class LeftUpwards(Message):
        """The person wants to go up into the conversation."""

        prompt: "PromptInput"

    _back = 0
    """How many lines back in the history the text comes from; 0 is the person's own."""
    _own = ""

    @property
    def said(self) -> Sequence[str]:
        """Lines that were said before, oldest first."""
        return ()

    async def _on_key(self, event: events.Key) -> None:
        match event.key:
            case "enter":
                self.post_message(self.Submitted(self, self.text))
            case "shift+enter" | "ctrl+j":
                self.insert("\n")
            case "alt+up":
                self.post_message(self.LeftUpwards(self))
            case "up" if self.cursor_location[0] == 0 and self._back < len(self.said):
                self._recall(self._back + 1)
            case "down" if self._back and self.cursor_location[0] == self.document.line_count - 1:
                self._recall(self._back - 1)
            case _:
                await super()._on_key(event)
                return
        event.stop()
        event.prevent_default()

    def take(self) -> str:
        """Hand the text over and be empty."""
        text, self.text = self.text, ""
        self._back = 0
        return text

    def _recall(self, back: int) -> None:
        if self._back == 0:
            self._own = self.text
        self._back = back
        self.text = self.said[-back] if back else self._own
        self.move_cursor(self.document.end)

"""Where the person writes."""

from dataclasses import dataclass

from textual import events
from textual.message import Message
from textual.widgets import TextArea


class Prompt(TextArea):
    """A text area of several lines: Enter sends, Shift+Enter or Ctrl+J begins a new line."""

    @dataclass
    class Submitted(Message):
        """The person wants to say this."""

        prompt: "Prompt"
        text: str

        @property
        def control(self) -> "Prompt":
            """The prompt it was written in."""
            return self.prompt

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            self.post_message(self.Submitted(self, self.text))
        elif event.key in ("shift+enter", "ctrl+j"):
            event.stop()
            event.prevent_default()
            self.insert("\n")
        else:
            await super()._on_key(event)

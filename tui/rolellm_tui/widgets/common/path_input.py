"""An input for a path with completion, which also accepts pasted cards."""

import asyncio
from dataclasses import dataclass

from textual import events, work
from textual.binding import Binding
from textual.message import Message
from textual.widgets import Input

from rolellm_tui.widgets.library.incoming import completed, is_json


class PathInput(Input):
    """An input for one path."""

    BINDINGS = [
        Binding(
            "tab",
            "complete",
            "Complete",
            id="import.complete",
            tooltip="Complete the file name.",
            show=False,
        )
    ]

    @dataclass
    class Ways(Message):
        """Possible completions; empty if there is only one or none."""

        names: tuple[str, ...]

    @dataclass
    class JsonPasted(Message):
        """JSON of a card was pasted."""

        text: str

    @work(group="complete", exclusive=True, exit_on_error=False)
    async def action_complete(self) -> None:
        """Complete the path, or report the possible completions."""
        typed = self.value
        completion = await asyncio.to_thread(completed, typed)
        if self.value == typed:
            self.value = completion.text
            self.cursor_position = len(completion.text)
            self.post_message(self.Ways(completion.names))

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        if is_json(event.text):
            self.post_message(self.JsonPasted(event.text))
        else:
            # A dropped file replaces the text.
            self.value = event.text.strip().split("\n")[0]
            self.cursor_position = len(self.value)

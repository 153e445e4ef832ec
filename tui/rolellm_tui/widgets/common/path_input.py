"""A line for a path: Tab completes it as a shell does, and a card may be pasted into it whole."""

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
        """How the path may go on; empty when it goes one way or none."""

        names: tuple[str, ...]

    @dataclass
    class JsonPasted(Message):
        """A card's JSON was pasted in place of a path."""

        text: str

    @work(group="complete", exclusive=True, exit_on_error=False)
    async def action_complete(self) -> None:
        """Add to the path what can only be meant, or tell how it may go on."""
        before = self.value
        found = await asyncio.to_thread(completed, before)
        if self.value == before:
            self.value = found.text
            self.cursor_position = len(found.text)
            self.post_message(self.Ways(found.names))

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        if is_json(event.text):
            self.post_message(self.JsonPasted(event.text))
        else:
            # A dropped file takes the place of what was there.
            self.value = event.text.strip().split("\n")[0]
            self.cursor_position = len(self.value)

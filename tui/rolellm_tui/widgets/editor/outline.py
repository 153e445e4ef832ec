"""The parts of a document, as a list."""

from textual import events
from textual.widgets import OptionList

_MOVES = {
    "up": "cursor_up",
    "down": "cursor_down",
    "home": "first",
    "end": "last",
    "pageup": "page_up",
    "pagedown": "page_down",
}


class Outline(OptionList):
    """Lists the rows of a form.

    It moves when a key arrives. Textual's list moves after the key has come back to the app, which by then
    has handled the editor's own keys that were pressed later.
    """

    async def on_key(self, event: events.Key) -> None:
        """Move the highlight."""
        if move := _MOVES.get(event.key):
            event.stop()
            await self.run_action(move)

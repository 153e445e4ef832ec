"""A line in which people write."""

from textual import events
from textual.widgets import Input

from rolellm_tui.widgets.common.edits_at_once import EditsAtOnce


class WritingLine(Input, EditsAtOnce):
    """An input whose keys take effect in the order in which they were pressed."""

    async def _on_key(self, event: events.Key) -> None:
        if event.is_printable or not await self.edits_at_once(event):
            await super()._on_key(event)

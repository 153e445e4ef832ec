"""Keys that edit a text take effect in the order in which they were pressed."""

from textual import events
from textual.widget import Widget


class EditsAtOnce(Widget):
    """A widget for typing whose Backspace, arrows and other keys of its own do not wait.

    Textual runs the bindings of a widget after the letters that were typed meanwhile: who corrects a
    letter fast would delete the next one.
    """

    async def edits_at_once(self, event: events.Key) -> bool:
        """Run the widget's own binding of a key; whether there is one."""
        for binding in self._bindings.key_to_bindings.get(event.key, ()):
            if not binding.priority and await self.app.run_action(binding.action, self):
                event.stop()
                event.prevent_default()
                return True
        return False

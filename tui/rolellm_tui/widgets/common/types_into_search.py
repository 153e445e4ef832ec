"""Widgets beside a search line: letters that are typed there go to the search line."""

from textual import events
from textual.message import Message as Event
from textual.widget import Widget
from textual.widgets import Input


class TypesIntoSearch(Widget):
    """Mixin for focusable widgets on a screen with an `Input` that has the id `search`.

    Letters are passed on before they enter the queue of the widget. A handler would be too late: letters
    that follow go to the search line at once, before those that still wait in the queue.

    In a list of base classes it comes after the class of the widget, from which Textual takes the styles.
    """

    def post_message(self, message: Event) -> bool:
        """Take a message into the queue; typed letters go to the search line, which gets the focus.

        The space bar stays: lists and menus use it.
        """
        if isinstance(message, events.Key) and message.is_printable and message.key != "space":
            search = self.screen.query_one("#search", Input)
            self.screen.set_focus(search)
            return search.post_message(message)
        return super().post_message(message)

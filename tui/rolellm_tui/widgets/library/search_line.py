"""The search line of the library."""

from dataclasses import dataclass

from textual import events
from textual.message import Message
from textual.widgets import Input

from rolellm_tui.widgets.library.incoming import is_card


class SearchLine(Input):
    """An input that passes pasted or dropped cards on."""

    @dataclass
    class CardPasted(Message):
        """A card's JSON, or the path of a file that may hold one."""

        text: str

    def _on_paste(self, event: events.Paste) -> None:
        if is_card(event.text):
            event.stop()
            event.prevent_default()
            self.post_message(self.CardPasted(event.text))

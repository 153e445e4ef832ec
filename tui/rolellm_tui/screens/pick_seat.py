"""A dialog that asks for a seat."""

from collections.abc import Mapping

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from rolellm_tui.widgets.common.drawn_lines import MUTED
from rolellm_tui.widgets.scene.texts import SeatStyles

_DIGITS = 9


class PickSeatScreen(ModalScreen[str | None]):
    """Asks for a seat. Returns it, or None when cancelled. Digits choose at once."""

    CSS_PATH = "pick_seat.tcss"
    AUTO_FOCUS = "OptionList"
    BINDINGS = [
        Binding("escape", "leave", "Leave", id="pick-seat.leave", tooltip="Cancel."),
    ]

    def __init__(self, question: str, seats: Mapping[str, str], speakers: SeatStyles) -> None:
        """Create the dialog.

        Args:
            question: the question that the dialog asks.
            seats: the seats to choose from, with a note on each.
            speakers: the names and colours of the seats.
        """
        super().__init__()
        self._question = question
        self._seats = seats
        self._speakers = speakers

    def compose(self) -> ComposeResult:
        """Compose the dialog."""
        with Vertical(id="pick"):
            yield Static(self._question, classes="title", markup=False)
            yield OptionList(*self._options(), markup=False)
            yield Static("Enter or digit select · Esc cancel", classes="keys", markup=False)

    def _options(self) -> list[Option]:
        options = []
        for number, (seat, about) in enumerate(self._seats.items(), 1):
            digit = f"{number} " if number <= _DIGITS else "  "
            note = (f"  {about}", MUTED) if about else ""
            options.append(
                Option(Content.assemble((digit, MUTED), self._speakers.content(seat), note), id=seat)
            )
        return options

    def on_key(self, event: events.Key) -> None:
        """Choose by digit."""
        seats = list(self._seats)
        if event.character and event.character.isdecimal() and 0 < int(event.character) <= len(seats):
            event.stop()
            self.dismiss(seats[int(event.character) - 1])

    @on(OptionList.OptionSelected)
    def _seat_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id)

    def action_leave(self) -> None:
        """Cancel."""
        self.dismiss(None)

"""Buttons for the user's own commands."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.containers import HorizontalScroll
from textual.message import Message
from textual.widgets import Button

from rolellm_tui.slash.own import OwnCommand


class QuickReplies(HorizontalScroll):
    """One button for each own command with `button: true`; hidden if there are none."""

    can_focus = False
    DEFAULT_CSS = """
    QuickReplies {
        height: 1;
        margin: 0 2;
        scrollbar-size-horizontal: 0;
        Button { margin: 0 1 0 0; }
    }
    """

    @dataclass
    class Pressed(Message):
        """The user pressed a button."""

        command: OwnCommand

    def __init__(self, own: Sequence[OwnCommand]) -> None:
        """Create the row for these commands."""
        super().__init__(id="quick-replies")
        self._commands = [one for one in own if one.button]
        self.display = bool(self._commands)

    def compose(self) -> ComposeResult:
        """Compose the buttons."""
        yield from self._buttons()

    def _buttons(self) -> Iterator[Button]:
        for number, one in enumerate(self._commands):
            button = Button(f"/{one.name}", compact=True, id=f"quick-{number}")
            button.tooltip = one.meaning
            yield button

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Tell which command was chosen."""
        event.stop()
        number = int((event.button.id or "").removeprefix("quick-"))
        self.post_message(self.Pressed(self._commands[number]))

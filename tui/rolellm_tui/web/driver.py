"""Textual's driver for browsers, which can move to another page and knows where the user is."""

from textual.drivers.web_driver import WebDriver
from textual.messages import ExitApp

from rolellm_tui.places import Place, place_of

SHOW_AGAIN = "show_again"
"""The type of the message to the app that another page, with an empty terminal, shows it."""
PLACE = "place"
"""The type of the message from the app that says where the user is."""


class TabDriver(WebDriver):
    """Draws the app in a browser tab."""

    _told: Place | None = None

    def write(self, data: str) -> None:
        """Draw, and tell the server if what is drawn is another place."""
        super().write(data)
        place = place_of(self._app.screen_stack)
        if place != self._told:
            self._told = place
            self.write_meta({"type": PLACE, "place": place.to_json() if place else ""})

    def on_meta(self, packet_type: str, payload: dict[str, object]) -> None:
        """Handle a message of the server."""
        if packet_type == SHOW_AGAIN:
            self._app.call_later(self._show_again)
        else:
            super().on_meta(packet_type, payload)

    def _show_again(self) -> None:
        """Draw everything in a terminal that knows nothing yet."""
        self.write("\x1b[?1049h\x1b[?25l")  # the alternate screen, without a cursor
        self._enable_mouse_support()
        self._enable_bracketed_paste()
        self._request_terminal_sync_mode_support()
        self._app.refresh(layout=True)

    def run_input_thread(self) -> None:
        """Forward input from the server, and quit when the server is gone."""
        super().run_input_thread()
        self._app.post_message(ExitApp())

"""Textual's driver for browsers, which ends when the browser disconnects."""

from textual.drivers.web_driver import WebDriver
from textual.messages import ExitApp


class TabDriver(WebDriver):
    """Draws the app in a browser tab."""

    def run_input_thread(self) -> None:
        """Forward input from the server, and quit when the server is gone."""
        super().run_input_thread()
        self._app.post_message(ExitApp())

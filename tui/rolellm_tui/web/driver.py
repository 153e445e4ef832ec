"""Textual's driver for browsers, with an end of its own when nobody is there any more."""

from textual.drivers.web_driver import WebDriver
from textual.messages import ExitApp


class TabDriver(WebDriver):
    """What draws the app into a browser's tab."""

    def run_input_thread(self) -> None:
        """Hand on what comes from the server; when the server is gone, let the app end too."""
        super().run_input_thread()
        self._app.post_message(ExitApp())

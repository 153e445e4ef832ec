"""The status line of a screen."""

import time

from textual.timer import Timer
from textual.widgets import Static

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.text import plain

ERROR_SIGN = "✗"
"""Stands before errors, which their colour alone does not tell to everybody."""
_SHORT = 5
"""Seconds of waiting that are not counted on the screen."""


class StatusLine(Static):
    """Shows one message; errors have the class `error`."""

    _counting: Timer | None = None
    """Counts the seconds while the message says what is waited for."""

    DEFAULT_CSS = """
    StatusLine {
        height: auto;
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as all widgets name it
        """Create an empty status line."""
        super().__init__("", id=id, classes="-silent", markup=False)
        self.shown_message = ""
        """The message."""

    def show_message(self, text: str) -> None:
        """Show a message; an empty one clears the line."""
        self._say(text, is_error=False)

    def show_waiting(self, text: str) -> None:
        """Show what is waited for, and soon also for how many seconds, until another message is shown."""
        self._say(text, is_error=False)
        began = time.monotonic()

        def count() -> None:
            seconds = int(time.monotonic() - began)
            if seconds >= _SHORT:
                self.update(plain(f"{text} {seconds} s"))

        self._counting = self.set_interval(1, count)

    def stop_waiting(self) -> None:
        """Clear the line if it says what is waited for."""
        if self._counting is not None:
            self.show_message("")

    def complain(self, error: RoleLLMError | str) -> None:
        """Show an error."""
        self._say(str(error), is_error=True)

    def _say(self, text: str, *, is_error: bool) -> None:
        if self._counting is not None:
            self._counting.stop()
            self._counting = None
        self.shown_message = text
        self.update(plain(f"{ERROR_SIGN} {text}" if is_error and text else text))
        self.set_class(is_error, "error")
        self.set_class(not text, "-silent")


class Complaint(StatusLine):
    """A status line that is hidden while empty."""

    DEFAULT_CSS = """
    Complaint.-silent {
        display: none;
    }
    """

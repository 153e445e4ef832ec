"""The status line of a screen."""

from textual.widgets import Static

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.text import plain


class StatusLine(Static):
    """Shows one message; errors have the class `error`."""

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

    def complain(self, error: RoleLLMError | str) -> None:
        """Show an error."""
        self._say(str(error), is_error=True)

    def _say(self, text: str, *, is_error: bool) -> None:
        self.shown_message = text
        self.update(plain(text))
        self.set_class(is_error, "error")
        self.set_class(not text, "-silent")


class Complaint(StatusLine):
    """A status line that is hidden while empty."""

    DEFAULT_CSS = """
    Complaint.-silent {
        display: none;
    }
    """

"""Where a screen tells how things went."""

from textual.widgets import Static

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.text import plain


class StatusLine(Static):
    """Says one thing at a time; it has the class `error` while that is a complaint."""

    DEFAULT_CSS = """
    StatusLine {
        height: auto;
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as all widgets name it
        """One that says nothing yet."""
        super().__init__("", id=id, classes="-silent", markup=False)
        self.told = ""
        """What it says."""

    def tell(self, text: str) -> None:
        """Say how it went; nothing when empty."""
        self._say(text, is_error=False)

    def complain(self, error: RoleLLMError | str) -> None:
        """Say what went wrong."""
        self._say(str(error), is_error=True)

    def _say(self, text: str, *, is_error: bool) -> None:
        self.told = text
        self.update(plain(text))
        self.set_class(is_error, "error")
        self.set_class(not text, "-silent")


class Complaint(StatusLine):
    """A status line that takes no room while it says nothing."""

    DEFAULT_CSS = """
    Complaint.-silent {
        display: none;
    }
    """

"""The preview of a message next to the tree."""

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from rolellm_agents.text import plain
from rolellm_tui.widgets.chat.prose import prose
from rolellm_tui.widgets.common.direction import aligned


class MessagePreview(VerticalScroll, can_focus=False):
    """Shows speaker, details and text."""

    DEFAULT_CSS = """
    MessagePreview > Static { height: auto; }
    """

    def compose(self) -> ComposeResult:
        """Compose the head and the text."""
        yield Static(classes="head", markup=False)
        yield Static(classes="words", markup=False)

    def show(self, speaker: str, about: Sequence[str], text: str) -> None:
        """Show a message.

        Args:
            speaker: the speaker's name, or a title.
            about: details of the message.
            text: the text of the message.
        """
        details = " · ".join(part for part in about if part)
        self.query_one(".head", Static).update(
            Content.assemble((plain(speaker), "bold"), "  ", (plain(details), "$foreground-muted"))
        )
        self.query_one(".words", Static).update(aligned(prose(text)))
        self.scroll_home(animate=False)

"""A whole message beside the tree, where only its first words stand."""

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from rolellm_agents.text import plain
from rolellm_tui.widgets.chat.prose import prose


class MessagePreview(VerticalScroll, can_focus=False):
    """Who said it, what is known of it, and its words."""

    DEFAULT_CSS = """
    MessagePreview > Static { height: auto; }
    """

    def compose(self) -> ComposeResult:
        """A head and the words."""
        yield Static(classes="head", markup=False)
        yield Static(classes="words", markup=False)

    def show(self, speaker: str, about: Sequence[str], text: str) -> None:
        """Show a message, from its beginning.

        Args:
            speaker: who said it; or what is shown instead of one message.
            about: what else is known of it.
            text: its words.
        """
        known = " · ".join(part for part in about if part)
        self.query_one(".head", Static).update(
            Content.assemble((plain(speaker), "bold"), "  ", (plain(known), "$foreground-muted"))
        )
        self.query_one(".words", Static).update(prose(text))
        self.scroll_home(animate=False)

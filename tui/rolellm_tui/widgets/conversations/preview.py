"""The preview of a conversation."""

import re
from collections.abc import Mapping, Sequence

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from rolellm_agents.text import one_line, plain
from rolellm_agents.transcript import FoundMessage, Message
from rolellm_agents.transcript.message import USER
from rolellm_tui.widgets.chat.prose import prose
from rolellm_tui.widgets.common.direction import aligned
from rolellm_tui.widgets.conversations.list import HIT

_LONGEST = 2_000
"""Maximum length of a displayed message, in characters."""


class ConversationPreview(VerticalScroll, can_focus=False):
    """Shows a few messages."""

    DEFAULT_CSS = """
    ConversationPreview > Static { height: auto; }
    """

    def compose(self) -> ComposeResult:
        """Compose the text."""
        yield Static(markup=False)

    def show(
        self, messages: Sequence[Message], names: Mapping[str, str], found: FoundMessage | None = None
    ) -> None:
        """Show messages and scroll to the end, or to the start for a match.

        Args:
            messages: the messages in order; without messages the preview is cleared.
            names: the names of the speakers, by id.
            found: the message in which matches are marked.
        """
        parts = [
            Content.assemble(_head(message, names), "\n", _content(message, found)) for message in messages
        ]
        self.query_one(Static).update(aligned(Content("\n\n").join(parts)))
        if found is None:
            self.call_after_refresh(self.scroll_end, animate=False, immediate=True)
        else:
            self.scroll_home(animate=False, immediate=True)


def _head(message: Message, names: Mapping[str, str]) -> Content:
    colour = "$text-secondary" if message.speaker == USER else "$text-primary"
    ending = f"  {message.ending}" if message.ending else ""
    speaker = one_line(names.get(message.speaker, message.speaker))
    return Content.assemble((speaker, f"bold {colour}"), (ending, "italic $text-warning"))


def _content(message: Message, found: FoundMessage | None) -> Content:
    content = prose(_shortened(message.text))
    if found is None or found.message != message.id:
        return content
    hits = {found.snippet[start:end] for start, end in found.hits}
    return content.highlight_regex("|".join(map(re.escape, hits)), style=HIT)


def _shortened(text: str) -> str:
    shown = plain(text).strip()
    return shown if len(shown) <= _LONGEST else shown[:_LONGEST].rstrip() + "…"

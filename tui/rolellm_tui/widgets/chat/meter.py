"""The meter of context usage and generation speed."""

import re
from collections.abc import Mapping
from typing import Any

from textual.geometry import Size
from textual.widgets import Static

from rolellm_agents.cards.values import integer, number
from rolellm_agents.transcript import Message
from rolellm_agents.transcript.message import USER
from rolellm_graphs.events import Event, MessageDone, TurnFailed
from rolellm_tui.widgets.common.bars import bar

_CELLS = 9
_FULL = 0.8
"""Share of the context from which a warning is shown."""
_NARROW = 60
"""Terminal width below which the meter is hidden."""
_WORD = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+(?:['’-]\w+)*")


class Meter(Static):
    """One line: `▕███▍     ▏ 38 % · 12 words/s`; empty before the first answer."""

    DEFAULT_CSS = """
    Meter {
        width: auto;
        height: 1;
        text-wrap: nowrap;
        color: $text-muted;
    }
    Meter.-full {
        color: $text-warning;
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as all widgets name it
        """Create an empty meter."""
        super().__init__(id=id, markup=False)

    def take(self, event: Event, context_size: int | None) -> None:
        """Update the meter when an answer ends."""
        match event:
            case MessageDone(message=message) | TurnFailed(message=message) if message is not None:
                if message.speaker != USER:
                    self.show(message, context_size)

    def show(self, message: Message, context_size: int | None) -> None:
        """Show the figures of a finished answer.

        Args:
            message: the answer.
            context_size: the model's context size in tokens; None if unknown.
        """
        full = context_share(message.usage, context_size)
        dropped = integer(message.made_by.get("dropped_messages")) > 0
        figures = [_context(message.usage, full), _pace(message)]
        is_full = full is not None and full > _FULL
        figures += ["oldest messages left out"] if dropped else ["nearly full"] if is_full else []
        self.update(" · ".join(filter(None, figures)))
        self.set_class(dropped or is_full, "-full")

    def get_content_width(self, container: Size, viewport: Size) -> int:
        """Hide the meter in narrow terminals."""
        return 0 if viewport.width < _NARROW else super().get_content_width(container, viewport)


def context_share(usage: Mapping[str, Any] | None, context_size: int | None) -> float | None:
    """The share of the context that an answer and its prompt use, from 0 to 1; None if unknown."""
    tokens = integer((usage or {}).get("total_tokens"))
    return min(1.0, tokens / context_size) if tokens > 0 and context_size else None


def words_in(text: str) -> int:
    """The number of words of a text; each Chinese character counts as a word."""
    return len(_WORD.findall(text))


def words_per_second(message: Message) -> float | None:
    """The words per second after the first word; None if they were not measured."""
    duration = number(message.made_by.get("seconds")) - number(message.made_by.get("first_token_s"))
    words = words_in(message.text)
    tokens = integer((message.usage or {}).get("output_tokens"))
    if tokens > 0:
        # A continued answer has words that were generated before.
        words = min(words, tokens)
    return (words - 1) / duration if duration > 0 and words > 1 else None


def rate(value: float) -> str:
    """Format a rate with a suitable precision."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def _context(usage: Mapping[str, Any] | None, full: float | None) -> str:
    if full is not None:
        return f"▕{bar(full, _CELLS)}▏ {full:.0%}".replace("%", " %")
    tokens = integer((usage or {}).get("total_tokens"))
    return f"{tokens:,} tokens" if tokens > 0 else ""


def _pace(message: Message) -> str:
    pace = words_per_second(message)
    return "" if pace is None else f"{rate(pace)} words/s"

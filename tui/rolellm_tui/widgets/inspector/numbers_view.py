"""Figures of an answer: request, tokens, times."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from textual.app import ComposeResult
from textual.containers import Horizontal, ItemGrid, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Digits, Static

from rolellm_agents.cards.values import integer, mapping, number, text
from rolellm_agents.text import one_line
from rolellm_agents.transcript import Message
from rolellm_tui.widgets.chat.meter import rate, words_in, words_per_second
from rolellm_tui.widgets.common.formatting import counted
from rolellm_tui.widgets.inspector.token_chart import percent


@dataclass(frozen=True)
class NumberTable:
    """A group of figures."""

    title: str
    rows: tuple[tuple[str, str], ...]


class NumbersView(VerticalScroll, can_focus=True):
    """Shows the main figures in large digits, and all figures in tables."""

    DEFAULT_CSS = """
    NumbersView .figures, NumbersView .figure, NumbersView .table, NumbersView .row { height: auto; }
    NumbersView .figure, NumbersView .figure Static, NumbersView Digits { width: auto; }
    NumbersView .table Static { height: auto; }
    NumbersView .label { width: 18; }
    NumbersView .value { width: 1fr; }
    """

    def __init__(
        self,
        message: Message,
        sampling: Mapping[str, Any] | None,
        context_size: int | None,
        cost: str = "",
    ) -> None:
        """Create the view.

        Args:
            message: the answer.
            sampling: the model's sampling settings; None if they were not recorded.
            context_size: the model's context size in tokens; None if unknown.
            cost: what the answer cost, in words; empty if unknown.
        """
        super().__init__()
        self._message = message
        self._sampling = sampling
        self._context_size = context_size
        self._cost = cost

    def compose(self) -> ComposeResult:
        """Compose the large figures and the tables below them."""
        if figures := figures_of(self._message):
            with Horizontal(classes="figures"):
                for value, unit in figures:
                    with Vertical(classes="figure"):
                        yield Digits(value)
                        yield Static(unit, markup=False)
        with ItemGrid(min_column_width=44, stretch_height=False):
            for table in tables_of(self._message, self._sampling, self._context_size, self._cost):
                with Vertical(classes="table"):
                    yield Static(Content.styled(table.title, "bold $text-accent"), markup=False)
                    for label, value in table.rows:
                        with Horizontal(classes="row"):
                            yield Static(label, classes="label", markup=False)
                            yield Static(value, classes="value", markup=False)


def figures_of(message: Message) -> list[tuple[str, str]]:
    """The main figures with their units."""
    figures = []
    if first := number(message.made_by.get("first_token_s")):
        figures.append((f"{first:.2f}", "seconds to first word"))
    if pace := words_per_second(message):
        figures.append((rate(pace), "words a second"))
    reused = _reused(message)
    if reused is not None:
        figures.append((f"{100 * reused:.0f}", "% read from the cache"))
    return figures


def tables_of(
    message: Message, sampling: Mapping[str, Any] | None, context_size: int | None, cost: str = ""
) -> Sequence[NumberTable]:
    """All known figures, without empty tables."""
    tables = (
        NumberTable("Asked", tuple(_request_rows(message, sampling))),
        NumberTable("Read", tuple(_prompt_rows(message, context_size))),
        NumberTable("Written", tuple(_answer_rows(message, cost))),
        NumberTable("Kept", tuple(_record_rows(message))),
    )
    return [table for table in tables if table.rows]


def _request_rows(message: Message, sampling: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    made_by = message.made_by
    for name in ("model", "strategy"):
        if value := one_line(text(made_by.get(name))):
            yield name, value
    for name, value in (sampling or {}).items():
        if value is not None and name != "seed":
            yield name.replace("_", " "), one_line(str(value))
    seed = made_by.get("seed", (sampling or {}).get("seed"))
    if seed is not None:
        yield "seed", one_line(str(seed))


def _prompt_rows(message: Message, context_size: int | None) -> Iterator[tuple[str, str]]:
    usage = message.usage or {}
    if tokens := integer(usage.get("input_tokens")):
        yield "prompt", counted(tokens, "token")
        if context_size:
            yield "context", f"{context_size:,} tokens, {percent(tokens, context_size)} of it taken"
    if cached := integer(mapping(usage.get("input_token_details")).get("cache_read")):
        share = f", {percent(cached, tokens)} of the prompt" if tokens > 0 else ""
        yield "from the cache", counted(cached, "token") + share
    if dropped := integer(message.made_by.get("dropped_messages")):
        noun = "message was" if dropped == 1 else "messages were"
        yield "left out", f"{dropped:,} oldest {noun} dropped because the context was full"


def _answer_rows(message: Message, cost: str) -> Iterator[tuple[str, str]]:
    made_by = message.made_by
    if words := words_in(message.text):
        yield "words", f"{words:,}"
    if tokens := integer((message.usage or {}).get("output_tokens")):
        yield "tokens", f"{tokens:,}"
    for label, key in (("first word after", "first_token_s"), ("ready after", "seconds")):
        if seconds := number(made_by.get(key)):
            yield label, f"{seconds:.2f} seconds"
    if pace := words_per_second(message):
        yield "pace", f"{rate(pace)} words a second"
    if cost:
        yield "cost", cost
    if threads := mapping(made_by.get("threads")):
        yield "threads", _threads(integer(threads.get("threads")), integer(threads.get("most")))
    if "model" in made_by:
        yield "ended", message.ending or "by itself"


def _threads(used: int, most: int) -> str:
    return f"{used} of {most}: the machine is busy" if used < most else str(used)


def _record_rows(message: Message) -> Iterator[tuple[str, str]]:
    yield "when", f"{one_line(message.created[:19].replace('T', ' '))} UTC"
    if prompt := one_line(text(message.made_by.get("prompt"))):
        yield "prompt's hash", prompt
    yield "message", message.id
    yield "conversation", message.conversation


def _reused(message: Message) -> float | None:
    """Share of the prompt from the cache; None if unknown."""
    usage = message.usage or {}
    tokens = integer(usage.get("input_tokens"))
    cached = mapping(usage.get("input_token_details")).get("cache_read")
    return integer(cached) / tokens if tokens > 0 and cached is not None else None

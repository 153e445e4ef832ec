"""Conversations as a list, and below them messages in which sought words stand; fast for thousands."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.cells import cell_len
from textual.binding import Binding
from textual.content import Content
from textual.css.styles import RulesMap
from textual.message import Message
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from rolellm_agents.text import one_line
from rolellm_agents.transcript import ConversationSummary, FoundMessage
from rolellm_agents.transcript.message import USER
from rolellm_tui.widgets.common.counting import counted
from rolellm_tui.widgets.common.times import told

_MUTED = "$foreground-muted"
_WHO = "$foreground"
HIT = "bold underline $text-accent"
"""How sought words stand out."""
_ARCHIVE = "Archive the conversation. The search still finds it."


@dataclass(frozen=True)
class ConversationItem:
    """One that is listed."""

    summary: ConversationSummary
    title: str
    """As the person named it, or how it began."""
    persona: str
    """The name."""

    @property
    def id(self) -> str:
        """The conversation's."""
        return self.summary.id


@dataclass(frozen=True)
class MessageItem:
    """A message that was found."""

    found: FoundMessage
    title: str
    """Of the conversation."""
    persona: str
    """The name."""


@dataclass(frozen=True)
class RowTarget:
    """What a row leads to."""

    conversation: str
    message: str | None = None
    """A message to open it at."""


class ConversationList(OptionList):
    """To move through; while it has the focus, letters act on what is highlighted."""

    BINDINGS = [
        Binding(
            "enter", "select", "Open", id="conversations.open", tooltip="Open the conversation.", show=False
        ),
        Binding("r", "screen.rename", "Rename", id="conversations.rename", tooltip="Edit the title."),
        Binding("a", "screen.archive", "Archive", id="conversations.archive", tooltip=_ARCHIVE),
        Binding(
            "a",
            "screen.unarchive",
            "Restore",
            id="conversations.unarchive",
            tooltip="Restore the conversation.",
        ),
        Binding(
            "x", "screen.export", "Export", id="conversations.export", tooltip="Export the conversation."
        ),
        Binding(
            "i",
            "screen.import",
            "Import",
            id="conversations.import",
            tooltip="Import conversations from a file.",
        ),
        Binding(
            "v",
            "screen.archived",
            "Archived",
            id="conversations.archived",
            tooltip="Show archived conversations, or the others.",
        ),
        Binding(
            "slash",
            "screen.find",
            "Find",
            id="conversations.find",
            tooltip="Search.",
            show=False,
        ),
    ]

    @dataclass
    class Picked(Message):
        """The person wants to go there."""

        place: RowTarget

    class LeftUpwards(Message):
        """The person goes up from the first row."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as all widgets name it
        """An empty list, to be filled with `show`."""
        super().__init__(id=id, markup=False)
        self._places: dict[str, RowTarget] = {}

    @property
    def place(self) -> RowTarget | None:
        """Where the highlighted row leads to."""
        option = self.highlighted_option
        return self._places.get(option.id or "") if option else None

    def show(
        self, conversations: Sequence[ConversationItem], hits: Sequence[MessageItem], now: datetime
    ) -> None:
        """List these; the highlight stays where it is if that is still there.

        Args:
            conversations: in this order.
            hits: messages, listed below them.
            now: what “today” means.
        """
        before, top = self.highlighted_option, self.scroll_offset.y
        options = [Option(_row_of(one, now), id=f"conversation {one.id}") for one in conversations]
        places = [RowTarget(one.id) for one in conversations]
        if hits:
            options += [Option(_heading("Messages"), id="heading", disabled=True)]
            options += [Option(_row_of_hit(one, now), id=f"message {one.found.message}") for one in hits]
            places += [RowTarget("")]
            places += [RowTarget(one.found.conversation, one.found.message) for one in hits]
        ids = [option.id or "" for option in options]
        self._places = dict(zip(ids, places, strict=True))
        self.set_options(options)
        # Without options the list does not hear that there are fewer lines.
        self.refresh(layout=not options)
        if before is not None and before.id in ids:
            self.highlighted = ids.index(before.id)
            self.scroll_to(y=top, animate=False, immediate=True)
        else:
            self.action_first()

    def go_to(self, conversation: str) -> None:
        """Highlight a conversation, if it is listed."""
        id_ = f"conversation {conversation}"
        if id_ in self._places:
            self.highlighted = self.get_option_index(id_)

    @property
    def beside(self) -> RowTarget | None:
        """Where the row after the highlighted one leads to, or the one before it, when it is the last."""
        rows = list(self._places.values())
        at = self.highlighted or 0
        return next((place for place in (*rows[at + 1 : at + 2], *rows[:at][-1:])), None)

    def action_cursor_up(self) -> None:
        """Move up; from the first row, out of the list."""
        before = self.highlighted
        self.action_first()
        if self.highlighted == before:
            self.post_message(self.LeftUpwards())
            return
        self.highlighted = before
        super().action_cursor_up()

    def action_select(self) -> None:
        """Go where the row leads to."""
        if self.place is not None:
            self.post_message(self.Picked(self.place))


class _Lines(Visual):
    """A known number of lines, drawn for a width only when they are on the screen."""

    def __init__(self, count: int, draw: Callable[[int], Iterable[Content]]) -> None:
        self._count = count
        self._draw = draw

    def get_height(self, rules: RulesMap, width: int) -> int:
        return self._count

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        return container_width

    def render_strips(
        self, width: int, height: int | None, style: Style, options: RenderOptions
    ) -> list[Strip]:
        return [
            strip
            for line in self._draw(width)
            for strip in line.truncate(width).render_strips(width, 1, style, options)
        ]


def _heading(words: str) -> _Lines:
    def draw(width: int) -> Iterator[Content]:
        yield Content(" ")
        rule = "─" * max(0, width - len(words) - 1)
        yield Content.assemble((words, "bold $text-primary"), " ", (rule, "$primary-muted"))

    return _Lines(2, draw)


def _row_of(one: ConversationItem, now: datetime) -> _Lines:
    summary = one.summary

    def draw(width: int) -> Iterator[Content]:
        said = Content.assemble((one_line(one.persona), _WHO), "  ", (summary.last, _MUTED))
        yield _apart(Content.styled(one_line(one.title), "bold"), told(summary.updated, now), width)
        yield _apart(said, counted(summary.messages, "message"), width)

    return _Lines(2, draw)


def _row_of_hit(hit: MessageItem, now: datetime) -> _Lines:
    found = hit.found

    def draw(width: int) -> Iterator[Content]:
        speaker = {USER: "You", found.persona: hit.persona}.get(found.speaker, found.speaker)
        below = Content.assemble((one_line(speaker), _WHO), "  ", (f"in {one_line(hit.title)}", _MUTED))
        when = told(found.created, now)
        yield _apart(_marked(found, _room(width, when)), when, width)
        yield below.truncate(width, ellipsis=True)

    return _Lines(2, draw)


def _room(width: int, right: str) -> int:
    """Cells that are left for the left part of a line."""
    return max(0, width - len(right) - 2)


def _apart(left: Content, right: str, width: int) -> Content:
    """A line with something at each end; the left part is cut where the right one begins."""
    cut = left.truncate(_room(width, right), ellipsis=True)
    gap = " " * (width - cut.cell_length - len(right))
    return Content.assemble(cut, gap, (right, _MUTED))


def _marked(found: FoundMessage, room: int) -> Content:
    """The snippet with its hits standing out, from where the first of them can be seen."""
    start, end = found.hits[0]
    drop = 0
    if cell_len(found.snippet[:end]) >= room:
        while drop < start and cell_len(found.snippet[drop:start]) > room // 3:
            drop += 1
    pieces: list[tuple[str, str]] = [("…", "")] if drop else []
    at = drop
    for start, end in found.hits:
        pieces += [(found.snippet[at:start], ""), (found.snippet[start:end], HIT)]
        at = end
    return Content.assemble(*pieces, (found.snippet[at:], ""))

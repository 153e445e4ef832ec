"""The list of conversations, followed by messages that match a search."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.cells import cell_len
from textual.binding import Binding
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from rolellm_agents.text import one_line
from rolellm_agents.transcript import ConversationSummary, FoundMessage
from rolellm_agents.transcript.message import USER
from rolellm_tui.widgets.common.drawn_lines import MUTED, DrawnLines
from rolellm_tui.widgets.common.formatting import counted, relative_time

_WHO = "$foreground"
HIT = "bold underline $text-accent"
"""The style of matches."""
_ARCHIVE = "Archive the conversation. The search still finds it."


@dataclass(frozen=True)
class ConversationItem:
    """A listed conversation."""

    summary: ConversationSummary
    title: str
    """Its title, or its first line."""
    persona: str
    """The name."""

    @property
    def id(self) -> str:
        """The conversation's."""
        return self.summary.id


@dataclass(frozen=True)
class MessageItem:
    """A message that matches the search."""

    found: FoundMessage
    title: str
    """Of the conversation."""
    persona: str
    """The name."""


@dataclass(frozen=True)
class RowTarget:
    """The target of a row."""

    conversation: str
    message: str | None = None
    """The message to show."""


class ConversationList(OptionList):
    """Lists conversations and messages; letters act on the highlighted one."""

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
        """The user opens a row."""

        place: RowTarget

    class LeftUpwards(Message):
        """The user moves up from the first row."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as all widgets name it
        """Create an empty list; `show` fills it."""
        super().__init__(id=id, markup=False)
        self._places: dict[str, RowTarget] = {}

    @property
    def place(self) -> RowTarget | None:
        """The target of the highlighted row."""
        option = self.highlighted_option
        return self._places.get(option.id or "") if option else None

    def show(
        self, conversations: Sequence[ConversationItem], hits: Sequence[MessageItem], now: datetime
    ) -> None:
        """List conversations and messages, and keep the highlighted row if it is still there.

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
        # Without options the list does not notice that it has fewer lines.
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
        """The target of the next row, or of the previous one if the last is highlighted."""
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
        """Open the highlighted row."""
        if self.place is not None:
            self.post_message(self.Picked(self.place))


def _heading(words: str) -> DrawnLines:
    def draw(width: int) -> Iterator[Content]:
        yield Content(" ")
        rule = "─" * max(0, width - len(words) - 1)
        yield Content.assemble((words, "bold $text-primary"), " ", (rule, "$primary-muted"))

    return DrawnLines(2, draw)


def _row_of(one: ConversationItem, now: datetime) -> DrawnLines:
    summary = one.summary

    def draw(width: int) -> Iterator[Content]:
        said = Content.assemble((one_line(one.persona), _WHO), "  ", (summary.last, MUTED))
        yield _apart(
            Content.styled(one_line(one.title), "bold"), relative_time(summary.updated, now), width
        )
        yield _apart(said, counted(summary.messages, "message"), width)

    return DrawnLines(2, draw)


def _row_of_hit(hit: MessageItem, now: datetime) -> DrawnLines:
    found = hit.found

    def draw(width: int) -> Iterator[Content]:
        speaker = {USER: "You", found.persona: hit.persona}.get(found.speaker, found.speaker)
        below = Content.assemble((one_line(speaker), _WHO), "  ", (f"in {one_line(hit.title)}", MUTED))
        when = relative_time(found.created, now)
        yield _apart(_marked(found, _room(width, when)), when, width)
        yield below.truncate(width, ellipsis=True)

    return DrawnLines(2, draw)


def _room(width: int, right: str) -> int:
    """Cells for the left part of a line."""
    return max(0, width - len(right) - 2)


def _apart(left: Content, right: str, width: int) -> Content:
    """A line with a left and a right part; the left one is cut."""
    cut = left.truncate(_room(width, right), ellipsis=True)
    gap = " " * (width - cut.cell_length - len(right))
    return Content.assemble(cut, gap, (right, MUTED))


def _marked(found: FoundMessage, room: int) -> Content:
    """The snippet with its matches marked, cut so that the first is visible."""
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

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
        """The id of the conversation."""
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
            "delete,d",
            "screen.delete",
            "Delete",
            id="conversations.delete",
            tooltip="Delete the conversation.",
        ),
        Binding(
            "D",
            "screen.delete_persona",
            "Delete all",
            id="conversations.delete-persona",
            tooltip="Delete all conversations with this persona.",
            show=False,
        ),
        Binding(
            "b", "screen.bin", "Bin", id="conversations.bin", tooltip="What was deleted: take it back."
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
            conversations: the conversations, in the order in which they are listed.
            hits: the messages, which are listed below the conversations.
            now: the current time, for words such as “today”.
        """
        highlighted, top = self.highlighted_option, self.scroll_offset.y
        options = [Option(_row_of(item, now), id=f"conversation {item.id}") for item in conversations]
        places = [RowTarget(item.id) for item in conversations]
        if hits:
            options += [Option(_heading("Messages"), id="heading", disabled=True)]
            options += [Option(_row_of_hit(item, now), id=f"message {item.found.message}") for item in hits]
            places += [RowTarget("")]
            places += [RowTarget(item.found.conversation, item.found.message) for item in hits]
        ids = [option.id or "" for option in options]
        self._places = dict(zip(ids, places, strict=True))
        self.set_options(options)
        # Without options the list does not notice that it has fewer lines.
        self.refresh(layout=not options)
        if highlighted is not None and highlighted.id in ids:
            self.highlighted = ids.index(highlighted.id)
            self.scroll_to(y=top, animate=False, immediate=True)
        else:
            self.action_first()

    def go_to(self, conversation: str) -> None:
        """Highlight a conversation, if it is listed."""
        id_ = f"conversation {conversation}"
        if id_ in self._places:
            self.highlighted = self.get_option_index(id_)

    @property
    def neighbour(self) -> RowTarget | None:
        """The target of the next row, or of the previous one if the last is highlighted."""
        rows = list(self._places.values())
        index = self.highlighted or 0
        return next((target for target in (*rows[index + 1 : index + 2], *rows[:index][-1:])), None)

    def action_cursor_up(self) -> None:
        """Move up; from the first row, out of the list."""
        row = self.highlighted
        self.action_first()
        if self.highlighted == row:
            self.post_message(self.LeftUpwards())
            return
        self.highlighted = row
        super().action_cursor_up()

    def action_select(self) -> None:
        """Open the highlighted row."""
        if self.place is not None:
            self.post_message(self.Picked(self.place))


def _heading(title: str) -> DrawnLines:
    def draw(width: int) -> Iterator[Content]:
        yield Content(" ")
        rule = "─" * max(0, width - len(title) - 1)
        yield Content.assemble((title, "bold $text-primary"), " ", (rule, "$primary-muted"))

    return DrawnLines(2, draw)


def _row_of(item: ConversationItem, now: datetime) -> DrawnLines:
    summary = item.summary

    def draw(width: int) -> Iterator[Content]:
        last_line = Content.assemble((one_line(item.persona), _WHO), "  ", (summary.last, MUTED))
        yield _two_parts(
            Content.styled(one_line(item.title), "bold"), relative_time(summary.updated, now), width
        )
        yield _two_parts(last_line, counted(summary.messages, "message"), width)

    return DrawnLines(2, draw)


def _row_of_hit(hit: MessageItem, now: datetime) -> DrawnLines:
    message = hit.found

    def draw(width: int) -> Iterator[Content]:
        speaker = {USER: "You", message.persona: hit.persona}.get(message.speaker, message.speaker)
        source = Content.assemble((one_line(speaker), _WHO), "  ", (f"in {one_line(hit.title)}", MUTED))
        time = relative_time(message.created, now)
        yield _two_parts(_marked(message, _room(width, time)), time, width)
        yield source.truncate(width, ellipsis=True)

    return DrawnLines(2, draw)


def _room(width: int, right: str) -> int:
    """Cells for the left part of a line."""
    return max(0, width - len(right) - 2)


def _two_parts(left: Content, right: str, width: int) -> Content:
    """A line with a left and a right part; the left one is cut."""
    cut = left.truncate(_room(width, right), ellipsis=True)
    gap = " " * (width - cut.cell_length - len(right))
    return Content.assemble(cut, gap, (right, MUTED))


def _marked(message: FoundMessage, room: int) -> Content:
    """The snippet with its matches marked, cut so that the first is visible."""
    start, end = message.hits[0]
    drop = 0
    if cell_len(message.snippet[:end]) >= room:
        while drop < start and cell_len(message.snippet[drop:start]) > room // 3:
            drop += 1
    pieces: list[tuple[str, str]] = [("…", "")] if drop else []
    position = drop
    for start, end in message.hits:
        pieces += [(message.snippet[position:start], ""), (message.snippet[start:end], HIT)]
        position = end
    return Content.assemble(*pieces, (message.snippet[position:], ""))

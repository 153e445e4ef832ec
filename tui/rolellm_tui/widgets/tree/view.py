"""The view of a conversation tree."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from textual import events
from textual.binding import Binding
from textual.geometry import Region, Size
from textual.message import Message as Event
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

from rolellm_tui.widgets.tree.line import TreeStyle, draw_line
from rolellm_tui.widgets.tree.rows import ConversationTree, TreeRow

_MARGIN = 2
"""Visible rows above and below the cursor."""


class TreeView(ScrollView, can_focus=True):
    """Shows all branches; only visible rows are drawn."""

    DEFAULT_CSS = """
    TreeView {
        overflow-x: hidden;
        text-wrap: nowrap;
    }
    """
    COMPONENT_CLASSES = {"tree-view--cursor"}
    BINDINGS = [
        Binding("up", "along(-1)", "Up", id="tree.up", tooltip="Previous message.", show=False),
        Binding("down", "along(1)", "Down", id="tree.down", tooltip="Next message.", show=False),
        Binding("left", "sibling(-1)", "‹", id="tree.earlier", tooltip="Previous sibling.", show=False),
        Binding("right", "sibling(1)", "›", id="tree.later", tooltip="Next sibling.", show=False),
        Binding("pageup", "page(-1)", "Page up", id="tree.page-up", tooltip="Page up.", show=False),
        Binding("pagedown", "page(1)", "Page down", id="tree.page-down", tooltip="Page down.", show=False),
        Binding("home", "first", "First", id="tree.first", tooltip="First row.", show=False),
        Binding("end", "here", "Here", id="tree.here", tooltip="The current message.", show=False),
        Binding("enter", "go", "Go", id="tree.go", tooltip="Continue from here, or unfold."),
        Binding("space", "mark", "Mark", id="tree.mark", tooltip="Mark this message."),
        Binding("f", "fold", "Fold", id="tree.fold", tooltip="Unfold or fold all."),
    ]

    cursor: var[int | None] = var(None, init=False)
    """The message under the cursor."""

    @dataclass
    class Moved(Event):
        """The cursor moved, or its row changed."""

        view: "TreeView"

        @property
        def control(self) -> "TreeView":
            """The view that sent this Textual message."""
            return self.view

    @dataclass
    class Chosen(Event):
        """The user opens a message."""

        view: "TreeView"
        message: str
        """Its id."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as all widgets call it
        """Create an empty view; `show` fills it."""
        super().__init__(id=id)
        self._drawing: TreeStyle | None = None
        self._rows: list[TreeRow] = []
        self._opened: set[int] = set()
        self._hits: list[int] = []

    def show(
        self, tree: ConversationTree, names: Mapping[str, str], branches: Mapping[int, Sequence[str]]
    ) -> None:
        """Show a tree, with the cursor on the current message.

        Args:
            tree: the tree of the conversation.
            names: the names of the speakers, by id.
            branches: the names of branches, by the index of the message to which they point.
        """
        # The indices of an earlier tree mean other messages in this one.
        self._drawing, self.cursor = None, None
        self._rows, self._hits, self._opened = [], [], set()
        self._drawing = TreeStyle(tree=tree, names=names, branches=branches)
        self._lay_out()
        self.cursor = tree.order[-1] if tree.here is None and tree.order else tree.here

    @property
    def row(self) -> TreeRow | None:
        """The row under the cursor."""
        index = self._cursor_row
        return None if index is None else self._rows[index]

    @property
    def rows(self) -> Sequence[TreeRow]:
        """All rows, from top to bottom."""
        return self._rows

    @property
    def marks(self) -> Sequence[int]:
        """The marked messages, at most two."""
        return tuple(self._drawing.marks) if self._drawing else ()

    @property
    def hits(self) -> Sequence[int]:
        """The matches from top to bottom."""
        return self._hits

    def find(self, sought: str, hits: Collection[int]) -> None:
        """Unfold all matches and go to the next one.

        Args:
            sought: the search text; empty ends the search.
            hits: the indices of the matching messages.
        """
        if self._drawing is None:
            return
        tree = self._drawing.tree
        self._drawing = replace(self._drawing, sought=sought)
        self._hits = sorted(hits, key=tree.at)
        self._lay_out()
        if self._hits and self.cursor not in hits:
            self.to_hit(1)

    def to_hit(self, step: int) -> None:
        """Go to the next match, or with -1 to the previous one, wrapping around."""
        if self._drawing is None or self.cursor is None or not self._hits:
            return
        at, heights = self._drawing.tree.at(self.cursor), [self._drawing.tree.at(hit) for hit in self._hits]
        index = bisect_right(heights, at) if step > 0 else bisect_left(heights, at) - 1
        self.cursor = self._hits[index % len(self._hits)]

    # Drawing

    def render_line(self, y: int) -> Strip:
        """Draw a visible line."""
        width, row = self.scrollable_content_region.width, self.scroll_offset.y + y
        if self._drawing is None or row >= len(self._rows):
            return Strip.blank(width, self.visual_style.rich_style)
        style = self.visual_style
        if row == self._cursor_row:
            style = self.get_visual_style("tree-view--cursor")
        line = draw_line(self._drawing, self._rows[row], width)
        return Visual.to_strips(self, line, width, 1, style, apply_selection=False, pad=True)[0]

    def _lay_out(self) -> None:
        """Rebuild the rows and keep the position of the cursor on the screen."""
        if self._drawing is None:
            return
        before = self._cursor_row
        self._rows = self._drawing.tree.rows(self._opened.union(self._hits))
        self._measure()
        after = self._cursor_row
        if before is not None and after is not None and before != after:
            self.scroll_to(y=self.scroll_offset.y + after - before, animate=False, immediate=True)
            self._scroll_to_cursor()
        self.refresh()
        self.post_message(self.Moved(self))

    def _measure(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, len(self._rows))

    def on_resize(self) -> None:
        """Resize the lines."""
        self._measure()
        self._scroll_to_cursor()

    def watch_cursor(self, before: int | None, after: int | None) -> None:
        """Redraw both rows and keep the cursor visible."""
        if self._drawing is None:
            return
        for place in (before, after):
            if place is not None:
                self.refresh_line(self._drawing.tree.row_of(place, self._rows))
        self._scroll_to_cursor()
        self.post_message(self.Moved(self))

    @property
    def _cursor_row(self) -> int | None:
        if self._drawing is None or self.cursor is None or not self._rows:
            return None
        return self._drawing.tree.row_of(self.cursor, self._rows)

    def _scroll_to_cursor(self) -> None:
        row = self._cursor_row
        if row is not None:
            top, bottom = max(0, row - _MARGIN), min(len(self._rows), row + _MARGIN + 1)
            self.scroll_to_region(
                Region(0, top, 1, bottom - top), animate=False, force=True, x_axis=False, immediate=True
            )

    # Keys

    def action_along(self, step: int) -> None:
        """Move along the branch, and at its ends to the neighbouring row."""
        row, at = self.row, self._cursor_row
        if self._drawing is None or row is None or at is None:
            return
        tree = self._drawing.tree
        places = tree.places_in(row)
        place = tree.after(places[-1]) if step > 0 else tree.parents[places[0]]
        if place is not None:
            self.cursor = place
        else:
            self._move_to(at + step)

    def action_sibling(self, step: int) -> None:
        """Go to a sibling of the message or of its nearest ancestor with siblings."""
        if self._drawing is not None and self.cursor is not None:
            place = self._drawing.tree.sibling(self.cursor, step)
            self.cursor = self.cursor if place is None else place

    def action_page(self, pages: int) -> None:
        """Move by a page."""
        if self._cursor_row is not None:
            self._move_to(self._cursor_row + pages * max(1, self.size.height - 1))

    def action_first(self) -> None:
        """Go to the first row."""
        self._move_to(0)

    def action_here(self) -> None:
        """Go to the current message."""
        if self._drawing is not None and self._drawing.tree.here is not None:
            self.cursor = self._drawing.tree.here
        else:
            self._move_to(len(self._rows) - 1)

    def action_go(self) -> None:
        """Open the message, or unfold."""
        row = self.row
        if self._drawing is None or row is None:
            return
        places = self._drawing.tree.places_in(row)
        if row.folded:
            self._opened.update(places)
            self._lay_out()
        else:
            self.post_message(self.Chosen(self, self._drawing.tree.messages[places[0]].id))

    def action_mark(self) -> None:
        """Toggle the mark; the oldest of three marks is removed."""
        row = self.row
        if self._drawing is None or row is None or row.folded:
            return
        (place,) = self._drawing.tree.places_in(row)
        marks = [mark for mark in self.marks if mark != place]
        if len(marks) == len(self.marks):
            marks = [*marks, place][-2:]
        self._drawing = replace(self._drawing, marks=tuple(marks))
        self.refresh()
        self.post_message(self.Moved(self))

    def action_fold(self) -> None:
        """Unfold all, or fold again."""
        if self._drawing is None:
            return
        if any(row.folded for row in self._rows):
            self._opened.update(self._drawing.tree.order)
        else:
            self._opened.clear()
        self._lay_out()

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked row; a second click opens the message or unfolds the row."""
        row = self.scroll_offset.y + event.y
        if row < len(self._rows):
            self._move_to(row)
            if event.chain > 1:
                self.action_go()

    def _move_to(self, row: int) -> None:
        if self._drawing is not None and self._rows:
            index = max(0, min(row, len(self._rows) - 1))
            self.cursor = self._drawing.tree.order[self._rows[index].at]

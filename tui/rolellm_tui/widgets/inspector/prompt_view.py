"""The messages of a prompt, drawn on demand."""

import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, islice

from textual import events
from textual.binding import Binding
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

from rolellm_graphs.role.prompt_parts import PromptPart
from rolellm_tui.widgets.inspector.rows import rows_of, visible
from rolellm_tui.widgets.inspector.token_chart import COLOURS

FOLDED = 4
"""Visible rows of a folded part."""
_MARGIN = 2
"""Cells for the mark at the left."""
_EDGE = 1
"""Cells between the words and the scroll bar."""


@dataclass(frozen=True)
class _Hit:
    """Position of a match."""

    number: int
    part: int
    start: int
    end: int


@dataclass(frozen=True)
class _PartBlock:
    """The drawn rows of a part: heading, text, folded rest, and an empty row."""

    rows: tuple[slice, ...]
    more: int
    """Number of folded characters."""

    @property
    def height(self) -> int:
        return 1 + len(self.rows) + bool(self.more) + 1


class PromptView(ScrollView, can_focus=True):
    """Moves between parts, folds them, and searches them."""

    DEFAULT_CSS = """
    PromptView {
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-gutter: stable;
    }
    PromptView > .prompt-view--current {
        background: $foreground 7%;
    }
    """
    ALLOW_SELECT = False
    COMPONENT_CLASSES = {"prompt-view--current"}
    BINDINGS = [
        Binding("down", "step(1)", "Next", id="prompt.next", tooltip="Scroll down.", show=False),
        Binding("up", "step(-1)", "Previous", id="prompt.previous", tooltip="Scroll up.", show=False),
        Binding("home", "go_to(0)", "First", id="prompt.first", tooltip="First part.", show=False),
        Binding("end", "go_to(-1)", "Last", id="prompt.last", tooltip="Last part.", show=False),
        Binding("enter", "fold", "Fold", id="prompt.fold", tooltip="Unfold or fold this part."),
        Binding("u", "fold_all", "Unfold", id="prompt.unfold", tooltip="Unfold or fold all parts."),
    ]

    current: reactive[int] = reactive(0)
    """The selected part."""

    @dataclass
    class Found(Message):
        """A search result: position and number of matches."""

        place: int
        hits: int

    def __init__(self, parts: Sequence[PromptPart], left_out: Collection[int] = ()) -> None:
        """Create the view.

        Args:
            parts: the messages of the prompt.
            left_out: the indices of parts that were dropped because the context was full.
        """
        super().__init__()
        self._parts = parts
        self._texts = [visible(part.text) for part in parts]
        self._left_out = frozenset(left_out)
        self._counts: Sequence[int] = ()
        self._open: set[int] = set()
        self._blocks: list[_PartBlock] = []
        self._tops: list[int] = []
        self._hits: list[_Hit] = []
        self._hits_in: dict[int, tuple[_Hit, ...]] = {}
        self._hit = 0

    def show_counts(self, counts: Sequence[int]) -> None:
        """Show the token count of each part."""
        self._counts = counts
        self.refresh()

    # Finding

    def find(self, query: str) -> None:
        """Mark all matches and go to the next one; empty text ends the search."""
        pattern = re.compile(re.escape(visible(query)), re.IGNORECASE)
        matches = (
            (index, match)
            for index, text in enumerate(self._texts if query else ())
            for match in pattern.finditer(text)
        )
        self._hits = [
            _Hit(number, index, match.start(), match.end()) for number, (index, match) in enumerate(matches)
        ]
        self._hits_in = {
            index: tuple(hits) for index, hits in groupby(self._hits, key=lambda hit: hit.part)
        }
        following = [number for number, hit in enumerate(self._hits) if hit.part >= self.current]
        self._show_hit(following[0] if following else 0)

    def next_hit(self, step: int) -> None:
        """Go to another match, wrapping around."""
        if self._hits:
            self._show_hit((self._hit + step) % len(self._hits))

    def _show_hit(self, number: int) -> None:
        self._hit = number
        if self._hits:
            hit = self._hits[number]
            self._unfold_to(hit)
            self.current = hit.part
            row = next(row for row, span in enumerate(self._blocks[hit.part].rows) if hit.start < span.stop)
            self.scroll_to_region(
                Region(0, self._tops[hit.part] + 1 + row, 1, 1), animate=False, center=True, force=True
            )
        self.refresh()
        self.post_message(self.Found(number + 1 if self._hits else 0, len(self._hits)))

    def _unfold_to(self, hit: _Hit) -> None:
        rows = self._blocks[hit.part].rows
        if self._blocks[hit.part].more and hit.end > rows[-1].stop:
            self._open.add(hit.part)
            self._lay_out()

    # Moving and folding

    def action_step(self, step: int) -> None:
        """Go to the previous or next part; scroll through parts larger than the screen."""
        top, bottom = self._extent(self.current)
        top_row = self.scroll_offset.y
        bottom_row = top_row + self.scrollable_content_region.height
        if (step > 0 and bottom > bottom_row) or (step < 0 and top < top_row):
            self.scroll_to(y=top_row + step, animate=False)
        else:
            self.action_go_to(max(0, min(len(self._parts) - 1, self.current + step)), from_end=step < 0)

    def action_go_to(self, place: int, from_end: bool = False) -> None:
        """Go to a part; to its end when moving up, otherwise to its start."""
        if not self._parts:
            return
        self.current = place % len(self._parts)
        top, bottom = self._extent(self.current)
        room = self.scrollable_content_region.height
        if from_end:
            target = min(self.scroll_offset.y, max(top, bottom - room))
            target = max(target, bottom - room)
        else:
            target = max(self.scroll_offset.y, min(top, bottom - room))
            target = min(target, top)
        self.scroll_to(y=target, animate=False)

    def action_fold(self) -> None:
        """Unfold or fold the part."""
        self._open ^= {self.current}
        self._lay_out()
        self.scroll_to(y=min(self.scroll_offset.y, self._tops[self.current]), animate=False)

    def action_fold_all(self) -> None:
        """Unfold all parts, or fold them if all are unfolded."""
        all_parts = set(range(len(self._parts)))
        self._open = set() if self._open == all_parts else all_parts
        self._lay_out()
        self.action_go_to(self.current)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Select a visible part."""
        super().watch_scroll_y(old_value, new_value)
        if not self._tops:
            return
        top, bottom = self._extent(self.current)
        top_row = self.scroll_offset.y
        bottom_row = top_row + self.scrollable_content_region.height
        if bottom <= top_row:
            self.current = self._part_at(top_row)
        elif top >= bottom_row:
            self.current = self._part_at(bottom_row - 1)

    def on_click(self, event: events.Click) -> None:
        """Select a part; a second click folds or unfolds it."""
        index = self._part_at(self.scroll_offset.y + event.y)
        if index == self.current:
            self.action_fold()
        else:
            self.current = index

    # Layout

    def on_resize(self) -> None:
        """Wrap the rows again and keep the top part in place."""
        at_top = self._part_at(self.scroll_offset.y) if self._tops else 0
        self._lay_out()
        if self.scroll_offset.y:
            self.scroll_to(y=self._tops[at_top], animate=False)

    def _lay_out(self) -> None:
        width = self.scrollable_content_region.width
        if not width:
            return
        self._blocks = [self._block(index, width - _MARGIN - _EDGE) for index in range(len(self._parts))]
        self._tops = list(accumulate((block.height for block in self._blocks), initial=0))
        self.virtual_size = Size(width, self._tops[-1])
        self.refresh()

    def _block(self, index: int, width: int) -> _PartBlock:
        text = self._texts[index]
        rows = rows_of(text, width)
        if index in self._open:
            return _PartBlock(tuple(rows), 0)
        # One more row is shown, because the note about it would take its place.
        first = tuple(islice(rows, FOLDED + 2))
        if len(first) <= FOLDED + 1:
            return _PartBlock(first, 0)
        return _PartBlock(first[:FOLDED], len(text) - first[FOLDED].start)

    def _extent(self, index: int) -> tuple[int, int]:
        """First row of a part, and end row (exclusive)."""
        return self._tops[index], self._tops[index + 1] - 1

    def _part_at(self, line: int) -> int:
        return min(bisect_right(self._tops, line), len(self._parts)) - 1

    # Drawing

    def render_line(self, y: int) -> Strip:
        """Draw one row."""
        line = y + self.scroll_offset.y
        width = self.scrollable_content_region.width
        if not self._tops or line >= self._tops[-1]:
            return Strip.blank(width, self.rich_style)
        index = self._part_at(line)
        row = line - self._tops[index]
        ends = row == self._blocks[index].height - 1
        style = self.visual_style
        if index == self.current and self.has_focus and not ends:
            style += self.get_visual_style("prompt-view--current", partial=True)
        content = Content() if ends else self._row(index, row, width)
        return Visual.to_strips(self, content, width, 1, style, pad=True)[0]

    def _row(self, index: int, row: int, width: int) -> Content:
        part, block = self._parts[index], self._blocks[index]
        mark = ("▌" if index == self.current else "▎", COLOURS[part.part])
        if row == 0:
            return Content.assemble(mark, " ", self._heading(index, width - _MARGIN - _EDGE))
        if row <= len(block.rows):
            return Content.assemble(mark, " ", self._content(index, block.rows[row - 1]))
        return Content.assemble(
            mark, " ", (f"… {block.more:,} more characters", "$foreground-muted italic")
        )

    def _heading(self, index: int, width: int) -> Content:
        part = self._parts[index]
        note = "dropped, context full" if index in self._left_out else ""
        if self._counts and not note:
            note = f"{self._counts[index]:,} token{'s' if self._counts[index] != 1 else ''}"
        name = Content.assemble((part.title, "bold"), (f"  {part.role}", "$foreground-muted"))
        gap = max(2, width - name.cell_length - len(note))
        return Content.assemble(name, " " * gap, (note, "$foreground-muted"))

    def _content(self, index: int, span: slice) -> Content:
        content = Content(self._texts[index][span])
        if index in self._left_out:
            content = content.stylize("$foreground-disabled")
        for hit in self._hits_in.get(index, ()):
            if hit.start < span.stop and hit.end > span.start:
                style = "$background on $warning" if hit.number == self._hit else "on $warning 35%"
                content = content.stylize(style, max(0, hit.start - span.start), hit.end - span.start)
        return content

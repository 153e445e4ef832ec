"""The chart of context usage: a stacked bar with a legend."""

from collections.abc import Mapping, Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget
from textual.widgets import Static

from rolellm_tui.widgets.common.bars import cells_of
from rolellm_tui.widgets.inspector.prompt_tokens import Kind, TokenCounts

COLOURS: Mapping[Kind, str] = {
    "instruction": "$primary",
    "example": "$success",
    "lore": "$accent",
    "note": "$warning",
    "recalled": "$error",
    "history": "$secondary-lighten-2",
    "line": "$foreground",
    "begun answer": "$foreground-darken-3",
    "turn marks": "$foreground 35%",
}


class TokenChart(Vertical):
    """Shows the total, a bar and its legend."""

    DEFAULT_CSS = """
    TokenChart { height: auto; }
    TokenChart > .total { height: 1; }
    """

    def compose(self) -> ComposeResult:
        """Compose the total, the bar and the legend."""
        yield Static("counting tokens…", classes="total", markup=False)
        yield _Bar()
        yield _Legend()

    def show(self, counts: TokenCounts) -> None:
        """Draw the counts."""
        prefix = "" if counts.exact else "about "
        figures = [f"{prefix}{counts.total:,} tokens"]
        if counts.context_size:
            share = percent(counts.total, counts.context_size)
            figures = [
                f"{prefix}{counts.total:,} of {counts.context_size:,} tokens",
                f"{share} of the context",
            ]
        self.query_one(".total", Static).update("  ·  ".join(figures))
        self.query_one(_Bar).show(counts)
        self.query_one(_Legend).show(counts)


class _Bar(Widget):
    """One row of blocks."""

    DEFAULT_CSS = "_Bar { height: 1; }"
    _counts: TokenCounts | None = None

    def show(self, counts: TokenCounts) -> None:
        self._counts = counts
        self.refresh()

    def render(self) -> Content:
        width = self.size.width
        kinds = self._counts.by_kind if self._counts else {}
        reference = _reference(self._counts) if self._counts else 0
        cells = cells_of(list(kinds.values()), reference, width)
        blocks = [(_BLOCK * count, COLOURS[kind]) for kind, count in zip(kinds, cells, strict=True)]
        return Content.assemble(*blocks, (_FREE * (width - sum(cells)), "$foreground 30%"))


class _Legend(Widget):
    """As many columns as fit."""

    DEFAULT_CSS = "_Legend { height: auto; }"
    _entries: Sequence[Content] = ()

    def show(self, counts: TokenCounts) -> None:
        self._entries = [_entry(kind, count, _reference(counts)) for kind, count in counts.by_kind.items()]
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(in_columns(self._entries, width))

    def render(self) -> Content:
        return Content("\n").join(in_columns(self._entries, self.size.width))


def percent(count: float, reference: float) -> str:
    """Format a share as a percentage; a share above 0 is never shown as 0 %."""
    share = 100 * count / reference
    return "<1 %" if 0 < share < 0.5 else f"{share:.0f} %"


def in_columns(entries: Sequence[Content], width: int) -> list[Content]:
    """Arrange entries in as many columns as fit into `width` cells."""
    for columns in range(len(entries), 0, -1):
        widths = [max(entry.cell_length for entry in entries[column::columns]) for column in range(columns)]
        if columns == 1 or sum(widths) + _BETWEEN * (columns - 1) <= width:
            return [
                Content(" " * _BETWEEN).join(
                    entry.pad_right(wide - entry.cell_length)
                    for entry, wide in zip(entries[first : first + columns], widths, strict=False)
                )
                for first in range(0, len(entries), columns)
            ]
    return []


def _entry(kind: Kind, count: int, reference: int) -> Content:
    return Content.assemble(
        ("■ ", COLOURS[kind]),
        f"{kind} ",
        (f"{count:,}", "bold"),
        (f"  {percent(count, reference)}", _QUIET),
    )


def _reference(counts: TokenCounts) -> int:
    """The reference of a share."""
    return counts.context_size or counts.total


_BETWEEN = 4
_BLOCK = "▀"
_FREE = "▔"
# Not $text-muted: in a `Content` it is as bright as all text.
_QUIET = "$foreground-muted"

"""Styled lines of the tree."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from textual.content import Content

from rolellm_agents.text import one_line
from rolellm_agents.transcript.message import USER
from rolellm_tui.widgets.tree.rows import ConversationTree, TreeRow

_BROAD = 100
"""Line width from which names get more space."""
_LOOKED_AT = 2_000
"""Maximum length of a line, in characters."""
_BEFORE_THE_HIT = 12
_WIDEST_CHIP = 16
_PRESENT = "$text-primary"
_ASIDE = "$foreground-muted"
"""A muted style; `$text-muted` works in style sheets only."""
_MARKED = "bold $text-accent"
_CHIP = "$text-primary on $primary-muted"
_HIT = "$text-warning on $warning-muted"

Piece = tuple[str, str]
"""Text and its style, empty for none."""


@dataclass(frozen=True, kw_only=True)
class TreeStyle:
    """The data that all lines of a tree share."""

    tree: ConversationTree
    names: Mapping[str, str]
    """Names by speaker."""
    branches: Mapping[int, Sequence[str]]
    """Branch names, by message index."""
    marks: Collection[int] = ()
    """Marked messages."""
    sought: str = ""
    """Search text."""

    def name_width(self, width: int) -> int:
        """The width of the name column in cells."""
        widths = (Content(name).cell_length for name in self.names.values())
        return min(16 if width >= _BROAD else 10, max(widths, default=0))


def draw_line(drawing: TreeStyle, row: TreeRow, width: int) -> Content:
    """Draw a row, exactly `width` cells wide."""
    left = Content.assemble(*_guides(drawing.tree, row), *_node(drawing, row))
    if row.folded:
        return left.truncate(width, ellipsis=True, pad=True)
    place = drawing.tree.order[row.at]
    right = Content.assemble(*_notes(drawing, place)).truncate(width * 2 // 5, ellipsis=True)
    name = _name(drawing, place, drawing.name_width(width))
    space = max(0, width - left.cell_length - name.cell_length - right.cell_length)
    words = _text(drawing, place, space).truncate(space, ellipsis=True, pad=True)
    return Content.assemble(left, name, words, right).truncate(width, ellipsis=True, pad=True)


def number_among_siblings(tree: ConversationTree, place: int) -> str:
    """The number among the siblings, such as `2/3`; empty for a message without siblings."""
    siblings = tree.siblings(place)
    return f"{siblings.index(place) + 1}/{len(siblings)}" if len(siblings) > 1 else ""


def sibling_notes(tree: ConversationTree, place: int) -> list[str]:
    """The number among siblings, and differing models or strategies."""
    differences = [number_among_siblings(tree, place)]
    for key in ("model", "strategy"):
        own, *rest = (
            tree.messages[sibling].made_by.get(key) or "" for sibling in (place, *tree.siblings(place))
        )
        if own and any(value != own for value in rest):
            differences.append(_short(one_line(str(own))))
    if "edited" in tree.messages[place].made_by:
        differences.append("edited")
    return [part for part in differences if part]


def _short(name: str) -> str:
    """Short name of a model, without provider and folder."""
    return re.split("[:/]", name.rstrip(":/"))[-1]


def _guides(tree: ConversationTree, row: TreeRow) -> list[Piece]:
    """The lanes left of a row."""
    pieces: list[Piece] = []
    for lane in range(row.depth):
        style = _PRESENT if lane == 0 and tree.continues_below(row) else _ASIDE
        if not (row.begins and lane == row.depth - 1):
            pieces.append(("│ ", style))
        else:
            pieces += [("╭" if row.at == 0 else "├", style), ("─", _ASIDE)]
    return pieces


def _node(drawing: TreeStyle, row: TreeRow) -> list[Piece]:
    tree = drawing.tree
    place = tree.order[row.at]
    style = _PRESENT if place in tree.path else _ASIDE
    if row.folded:
        return [("┊ ", style), (f"… {row.size:,} messages", f"italic {_ASIDE}")]
    if place in drawing.marks:
        return [("◆ ", _MARKED)]
    if place == tree.here:
        return [("◉ ", style)]
    return [("● " if place in tree.path else "○ ", style)]


def _name(drawing: TreeStyle, place: int, width: int) -> Content:
    speaker = drawing.tree.messages[place].speaker
    style = "bold $text-secondary" if speaker == USER else "bold $text-primary"
    name = Content(one_line(drawing.names.get(speaker, speaker)))
    cut = name.truncate(width, ellipsis=True, pad=True)
    return Content.assemble((cut.plain, style), "  ")


def _text(drawing: TreeStyle, place: int, space: int) -> Content:
    """The first words, or those around a match."""
    text = one_line(drawing.tree.messages[place].text[:_LOOKED_AT].replace("*", ""))
    style = "" if place in drawing.tree.path else _ASIDE
    if not drawing.sought:
        return Content.assemble((text, style))
    hits = re.compile(re.escape(drawing.sought), re.IGNORECASE)
    text = _from_hit(text, hits.search(text), space)
    pieces: list[Piece] = []
    end = 0
    for hit in hits.finditer(text):
        pieces += [(text[end : hit.start()], style), (hit.group(), _HIT)]
        end = hit.end()
    return Content.assemble(*pieces, (text[end:], style))


def _from_hit(text: str, hit: re.Match[str] | None, space: int) -> str:
    """The text from shortly before the match, if it would be hidden otherwise."""
    if hit is None or hit.end() < space:
        return text
    start = max(0, min(hit.start() - _BEFORE_THE_HIT, len(text) + 1 - space))
    start = text.find(" ", start, hit.start()) + 1 or start
    return f"…{text[start:]}"


def _notes(drawing: TreeStyle, place: int) -> list[Piece | str]:
    """The right part: difference from siblings, ending, and branches."""
    message = drawing.tree.messages[place]
    notes = [part for part in (message.ending, *sibling_notes(drawing.tree, place)) if part]
    pieces: list[Piece | str] = [("  " + " · ".join(notes), _ASIDE)] if notes else []
    for name in drawing.branches.get(place, ()):
        pieces += ["  ", (f" {one_line(name, _WIDEST_CHIP)} ", _CHIP)]
    return [*pieces, " "] if pieces else []

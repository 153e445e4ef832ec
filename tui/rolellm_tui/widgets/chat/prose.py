"""Styled text of a message: Markdown, with *actions* distinguished from speech.

A message is a single `Content`, so that a streamed answer grows in place. Text from outside is never
interpreted as Textual markup, links or control characters.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token
from textual.content import Content

from rolellm_agents.text import plain
from rolellm_tui.widgets.chat.prose_code import code_lines
from rolellm_tui.widgets.chat.prose_table import TableCell, table_lines

_ACTION = "italic $foreground-muted"
_SPEECH = "$text-accent"
_STRONG = "bold"
_CODE = "$text-warning on $surface-lighten-1"
_QUIET = "$foreground-muted"
_OPENED = {"em_open": _ACTION, "strong_open": _STRONG, "s_open": "strike"}
"""The style that begins with a token."""
_BAR = "▏ "
_SPOKEN = re.compile(r"“[^”]*”?|\"[^\"]*\"?|「[^」]*」?|『[^』]*』?|«[^»]*»?")
_LONGEST = 200_000
"""Maximum length that is rendered as Markdown; longer text is shown plain."""

Piece = tuple[str, str] | Content
"""Text and its style, empty for none; or text with several styles."""


def prose(text: str) -> Content:
    """Render the text of a message.

    Emphasis marks an action, quotation marks mark speech. Headings, lists, quotations, code
    and single line breaks are kept.
    """
    safe = plain(text)
    if len(safe) > _LONGEST:
        return Content(safe)
    pieces: list[Piece] = []
    for block in _Reading(_reader().parse(safe)).blocks():
        for number, line in enumerate(block.lines):
            separator = "\n\n" if block.apart and not number else "\n"
            pieces += [(separator, ""), *line] if pieces else line
    return Content.assemble(*pieces)


class _ProseBlock(NamedTuple):
    """A block of lines, and whether an empty line precedes it."""

    lines: list[list[Piece]]
    apart: bool


@cache
def _reader() -> MarkdownIt:
    # Without indented code: people indent for other reasons. Without HTML: what looks like it is text.
    reader = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    return reader.disable(["code", "html_block", "html_inline"])


class _Reading:
    """Renders the tokens of a document."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._margin: list[str] = []
        """Prefixes of lines: bars of quotations and pending list markers."""
        self._numbers: list[int | None] = []
        """Next numbers of the open lists; None for bullets."""
        self._rows: list[list[TableCell]] = []
        """The rows of the open table."""
        self._aligned: str | int | float | None = None
        """The alignment of the open cell of a table."""
        self._heading = False
        self._tight = False
        """Whether the next paragraph follows without an empty line."""

    def blocks(self) -> Iterator[_ProseBlock]:
        """The blocks in their order."""
        for token in self._tokens:
            match token.type:
                case "inline" if self._rows:
                    (cell,) = _inline(token.children or [], _STRONG if len(self._rows) == 1 else "")
                    self._rows[-1].append(TableCell(cell, self._aligned == "text-align:right"))
                case "inline":
                    yield self._block(_inline(token.children or [], _STRONG if self._heading else ""))
                case "fence":
                    yield self._block([[row] for row in code_lines(token.content, token.info, _CODE)])
                case "tr_open":
                    self._rows.append([])
                case "th_open" | "td_open":
                    self._aligned = token.attrGet("style")
                case "table_close":
                    yield self._block(table_lines(self._rows, rule=_QUIET))
                    self._rows = []
                case "hr":
                    yield self._block([[("─" * 3, _QUIET)]])
                case _:
                    self._enter_or_leave(token)

    def _enter_or_leave(self, token: Token) -> None:
        match token.type:
            case "heading_open" | "heading_close":
                self._heading = token.nesting == 1
            case "paragraph_open":
                self._tight = token.hidden and self._tight
            case "blockquote_open":
                self._margin.append(_BAR)
            case "bullet_list_open" | "ordered_list_open":
                start = int(token.attrGet("start") or 1) if token.type.startswith("ordered") else None
                self._numbers.append(start)
                self._tight = False
            case "list_item_open":
                self._margin.append(self._next_mark())
            case "blockquote_close":
                self._margin.pop()
            case "list_item_close":
                self._margin.pop()
                self._tight = True
            case "bullet_list_close" | "ordered_list_close":
                self._numbers.pop()
                self._tight = bool(self._numbers)

    def _next_mark(self) -> str:
        number = self._numbers[-1]
        if number is None:
            return "• "
        self._numbers[-1] = number + 1
        return f"{number}. "

    def _block(self, lines: list[list[Piece]]) -> _ProseBlock:
        """The lines with their margins; a list marker precedes the first one."""
        first = "".join(self._margin)
        self._margin = [part if part == _BAR else " " * len(part) for part in self._margin]
        others = "".join(self._margin)
        apart, self._tight = not self._tight, False
        return _ProseBlock(
            [
                [(others if number else first, _QUIET), *line] if first else line
                for number, line in enumerate(lines)
            ],
            apart,
        )


def _inline(children: Sequence[Token], base: str) -> list[list[Piece]]:
    """The lines of one paragraph."""
    lines: list[list[Piece]] = [[]]
    styles = [base] if base else []
    targets: list[tuple[str, int]] = []
    for token in children:
        match token.type:
            case kind if kind in _OPENED:
                styles.append(_OPENED[kind])
            case "em_close" | "strong_close" | "s_close":
                styles.pop()
            case "code_inline":
                lines[-1].append((token.content, _CODE))
            case "softbreak" | "hardbreak":
                lines.append([])
            case "image":
                lines[-1].append((f"[{token.content}]", _QUIET))
            case "link_open":
                targets.append((str(token.attrGet("href") or ""), len(lines[-1])))
            case "link_close":
                target, start = targets.pop()
                lines[-1] += _target(target, lines[-1][start:])
            case _:
                lines[-1] += _speech_apart(token.content, " ".join(styles))
    return lines


def _target(target: str, words: Sequence[Piece]) -> list[Piece]:
    """The target of a link, unless the words of the link are the target.

    It is text, not a link of the terminal, whose target nobody sees before a click.
    """
    said = "".join(piece.plain if isinstance(piece, Content) else piece[0] for piece in words)
    return [] if target in ("", said, f"mailto:{said}") else [(f" ({target})", _QUIET)]


def _speech_apart(text: str, style: str) -> Iterator[Piece]:
    """Style speech outside of actions."""
    position = 0
    for match in _SPOKEN.finditer("" if style else text):
        yield text[position : match.start()], ""
        yield match.group(), _SPEECH
        position = match.end()
    yield text[position:], style

"""What a character says, as styled text: Markdown, and *actions* told apart from speech.

One `Content` for a whole message, so that an answer grows in place while it comes: nothing is rebuilt and
nothing jumps. Words from outside stay words: no markup, no links that act, no control characters.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token
from textual.content import Content

from rolellm_agents.text import plain

_ACTION = "italic $foreground-muted"
_SPEECH = "$text-accent"
_STRONG = "bold"
_CODE = "$text-warning on $surface-lighten-1"
_QUIET = "$foreground-muted"
_BAR = "▏ "
_SPOKEN = re.compile(r"“[^”]*”?|\"[^\"]*\"?|「[^」]*」?|『[^』]*』?|«[^»]*»?")
_LONGEST = 200_000
"""Characters that are read as Markdown; of more, all is shown plain."""

Piece = tuple[str, str]
"""Text and its style, empty for none."""


def prose(text: str) -> Content:
    """The text of a message as it is shown.

    Emphasis is an action, as role players write it; what stands in quotation marks is speech; headings,
    lists, quotations and code keep their shape. A single line break is one.
    """
    safe = plain(text)
    if len(safe) > _LONGEST:
        return Content(safe)
    pieces: list[Piece] = []
    for block in _Reading(_reader().parse(safe)).blocks():
        for number, line in enumerate(block.lines):
            between = "\n\n" if block.apart and not number else "\n"
            pieces += [(between, ""), *line] if pieces else line
    return Content.assemble(*pieces)


class _ProseBlock(NamedTuple):
    """Lines that belong together, and whether an empty one stands before them."""

    lines: list[list[Piece]]
    apart: bool


@cache
def _reader() -> MarkdownIt:
    # Without indented code: people indent for other reasons. Without HTML: what looks like it is text.
    return MarkdownIt("commonmark", {"html": False}).disable(["code", "html_block", "html_inline"])


class _Reading:
    """One walk through a document's tokens."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._margin: list[str] = []
        """What stands before each line: bars of quotations, marks of list items that are not shown yet."""
        self._numbers: list[int | None] = []
        """Of the lists that are open the next number; None for bullets."""
        self._heading = False
        self._tight = False
        """Whether the next paragraph follows the last without an empty line."""

    def blocks(self) -> Iterator[_ProseBlock]:
        """The blocks in their order."""
        for token in self._tokens:
            match token.type:
                case "inline":
                    yield self._block(_inline(token.children or [], _STRONG if self._heading else ""))
                case "fence":
                    rows = token.content.rstrip("\n").split("\n")
                    yield self._block([[(row, _CODE)] for row in rows])
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
        """The lines with their margin: a list's mark before the first, blanks as wide before the others."""
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
    for token in children:
        match token.type:
            case "em_open":
                styles.append(_ACTION)
            case "strong_open":
                styles.append(_STRONG)
            case "em_close" | "strong_close":
                styles.pop()
            case "code_inline":
                lines[-1].append((token.content, _CODE))
            case "softbreak" | "hardbreak":
                lines.append([])
            case "image":
                lines[-1].append((f"[{token.content}]", _QUIET))
            case _:
                lines[-1] += _speech_apart(token.content, " ".join(styles))
    return lines


def _speech_apart(text: str, style: str) -> Iterator[Piece]:
    """Speech in its own colour; in an action it stays a part of the action."""
    at = 0
    for match in _SPOKEN.finditer("" if style else text):
        yield text[at : match.start()], ""
        yield match.group(), _SPEECH
        at = match.end()
    yield text[at:], style

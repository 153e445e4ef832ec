"""The blocks of code in a message."""

from typing import NamedTuple

from markdown_it import MarkdownIt


class CodeBlock(NamedTuple):
    """A fenced block: its text, and the rows of it in the message."""

    text: str
    first: int
    """The row of the first line of code."""
    end: int
    """The row behind the last one."""


def code_blocks(text: str) -> list[CodeBlock]:
    """The fenced blocks of a text that have lines, in their order."""
    blocks = []
    for token in MarkdownIt("commonmark", {"html": False}).disable("code").parse(text):
        if token.type == "fence" and token.map and token.content:
            first = token.map[0] + 1
            code = token.content.removesuffix("\n")
            blocks.append(CodeBlock(code, first, first + len(code.split("\n"))))
    return blocks

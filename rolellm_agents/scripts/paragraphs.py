"""Split a text into paragraphs, however its lines are wrapped."""

import re
from collections.abc import Iterator, Sequence
from statistics import quantiles
from typing import NamedTuple

_ENDS = re.compile(r"[.!?:…。！？]['\"’”」』)]*$|[”」』]$|--$|—$")
_ABBREVIATION = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|Col|Capt)\.$")
_BEGINS = re.compile(r"^[\"“‘「『'_(]?[A-Z\u3400-\u9fff]")
_OPENS = ("“", '"', "‘", "「", "『", "'")
_FULL = 0.85
"""Share of the full width; a shorter line may be the last of a paragraph."""


class SourceParagraph(NamedTuple):
    """A paragraph and the number of its first line, from 1."""

    line: int
    text: str


def paragraphs(text: str) -> Iterator[SourceParagraph]:
    """Split a text into paragraphs: at empty lines, at every line, or by punctuation if double-spaced."""
    lines = [line.strip() for line in text.split("\n")]
    blocks = list(_blocks(lines))
    lengths = sorted(len(block.text) for block in blocks)
    if _is_double_spaced(blocks, lines):
        yield from _rejoined(blocks)
    elif len(blocks) <= 2 or lengths[len(lengths) // 2] > 3_000:
        yield from (SourceParagraph(number, line) for number, line in enumerate(lines, 1) if line)
    else:
        yield from blocks


def _blocks(lines: Sequence[str]) -> Iterator[SourceParagraph]:
    """Runs of lines between empty ones."""
    block: list[str] = []
    for number, line in enumerate([*lines, ""], 1):
        if line:
            block.append(" ".join(line.split()))
        elif block:
            yield SourceParagraph(number - len(block), " ".join(block))
            block = []


def _is_double_spaced(blocks: Sequence[SourceParagraph], lines: Sequence[str]) -> bool:
    """Whether an empty line follows every line, even within sentences."""
    filled = sum(map(bool, lines))
    unfinished = sum(not _ENDS.search(block.text) for block in blocks)
    return len(blocks) > 20 and len(blocks) > 0.7 * filled and unfinished > 0.3 * len(blocks)


def _rejoined(blocks: Sequence[SourceParagraph]) -> Iterator[SourceParagraph]:
    width = quantiles([min(len(block.text), 80) for block in blocks], n=4)[2]
    joined = blocks[0]
    last = joined.text
    for block in blocks[1:]:
        if _ends_paragraph(last, block.text, width, joined.text):
            yield joined
            joined = block
        else:
            joined = SourceParagraph(joined.line, f"{joined.text} {block.text}")
        last = block.text
    yield joined


def _ends_paragraph(line: str, following: str, width: float, so_far: str) -> bool:
    if _ABBREVIATION.search(line) or (not _ENDS.search(line) and len(line) > width / 2):
        return False
    if not _BEGINS.match(following):
        return False
    if so_far.count('"') % 2 and not following.startswith('"'):
        return False
    return following.startswith(_OPENS) or len(line) < _FULL * width

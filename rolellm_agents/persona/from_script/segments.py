"""Segments of a script in which a role speaks, small enough for one prompt."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rolellm_agents.scripts.script import Script, ScriptPassage


@dataclass(frozen=True)
class ScriptSegment:
    """Consecutive passages of one scene in which the role speaks."""

    number: int
    """Place in the script's order, from 0."""
    lines: tuple[str, ...]
    """The passages with the speakers' names."""
    places: tuple[str, ...]
    """The place of each passage in the source."""
    weight: int
    """Number of characters that the role speaks."""


def cut_segments(script: Script, names: Sequence[str], *, most: int) -> list[ScriptSegment]:
    """Cut a script between scenes and passages, and keep the segments in which the role speaks.

    A passage longer than `most` characters is truncated.
    """
    segments: list[ScriptSegment] = []
    for passages in _pieces(script.passages, most):
        weight = sum(len(passage.speech) for passage in passages if passage.speaker in names)
        if weight:
            lines = tuple(_with_speaker(passage)[:most] for passage in passages)
            places = tuple(passage.place for passage in passages)
            segments.append(ScriptSegment(len(segments), lines, places, weight))
    return segments


def choose_segments(segments: Sequence[ScriptSegment], count: int) -> list[ScriptSegment]:
    """The segments in which the role speaks most, one from each of `count` equal parts of the story."""
    if len(segments) <= count:
        return list(segments)
    bounds = [round(number * len(segments) / count) for number in range(count + 1)]
    return [max(segments[start:end], key=lambda segment: segment.weight) for start, end in pairwise(bounds)]


def _with_speaker(passage: ScriptPassage) -> str:
    """A passage with its speaker's name, unless its text begins with the name."""
    if passage.speaker and not passage.text.startswith(passage.speaker):
        return f"[{passage.speaker}] {passage.text}"
    return passage.text


def _pieces(passages: Sequence[ScriptPassage], most: int) -> Iterator[list[ScriptPassage]]:
    piece: list[ScriptPassage] = []
    size = 0
    for passage in passages:
        length = len(_with_speaker(passage)) + 1
        if piece and (passage.scene != piece[0].scene or size + length > most):
            yield piece
            piece, size = [], 0
        piece.append(passage)
        size += length
    if piece:
        yield piece

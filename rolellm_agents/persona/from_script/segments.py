"""Pieces of a script around a role, small enough for a model to read at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rolellm_agents.scripts.script import Script, ScriptPassage


@dataclass(frozen=True)
class ScriptSegment:
    """Passages in a row of one scene, in which the role has a part."""

    number: int
    """In the script's order, from 0."""
    lines: tuple[str, ...]
    """Its passages, with the speakers' names."""
    places: tuple[str, ...]
    """Where each of them stands in the source."""
    weight: int
    """Characters that the role says in it."""


def cut_segments(script: Script, names: Sequence[str], *, most: int) -> list[ScriptSegment]:
    """Cut the script at scenes, and within them between passages; keep the pieces where the role speaks.

    Args:
        script: what to cut.
        names: the role's names.
        most: characters of a piece; a single passage that is longer is cut short.
    """
    segments: list[ScriptSegment] = []
    for held in _pieces(script.passages, most):
        weight = sum(len(passage.speech) for passage in held if passage.speaker in names)
        if weight:
            lines = tuple(_told(passage)[:most] for passage in held)
            places = tuple(passage.place for passage in held)
            segments.append(ScriptSegment(len(segments), lines, places, weight))
    return segments


def choose_segments(segments: Sequence[ScriptSegment], count: int) -> list[ScriptSegment]:
    """The pieces that show most of the role, one from each stretch of the story."""
    if len(segments) <= count:
        return list(segments)
    bounds = [round(number * len(segments) / count) for number in range(count + 1)]
    return [max(segments[start:end], key=lambda segment: segment.weight) for start, end in pairwise(bounds)]


def _told(passage: ScriptPassage) -> str:
    """A passage with its speaker, where the text itself does not begin with the name."""
    if passage.speaker and not passage.text.startswith(passage.speaker):
        return f"[{passage.speaker}] {passage.text}"
    return passage.text


def _pieces(passages: Sequence[ScriptPassage], most: int) -> Iterator[list[ScriptPassage]]:
    held: list[ScriptPassage] = []
    size = 0
    for passage in passages:
        length = len(_told(passage)) + 1
        if held and (passage.scene != held[0].scene or size + length > most):
            yield held
            held, size = [], 0
        held.append(passage)
        size += length
    if held:
        yield held

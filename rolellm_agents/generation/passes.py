"""What a model is asked for a character's questions, one request after the other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rolellm_agents.generation.segments import SourceSegment, spread

Kind = Literal["script_based", "script_agnostic", "boundary"]
"""What questions are about: what happened to the character, what such a character knows and thinks, and
what it cannot know."""

_TURNS: Final[tuple[Kind, ...]] = (
    "script_based",
    "script_agnostic",
    "script_based",
    "script_agnostic",
    "boundary",
)
"""Whose turn it is, over and over, so that few questions are of all kinds, too."""


@dataclass(frozen=True)
class Pass:
    """One request for questions."""

    kind: Kind
    segment: SourceSegment
    theme: str
    """What to ask about, beside the segment; empty when the segment says it all."""
    key: str
    """The same in every run with the same segments and themes."""


def plan_passes(
    told: Sequence[SourceSegment],
    about: Sequence[SourceSegment],
    themes: Sequence[str],
    unknown: Sequence[str],
) -> list[Pass]:
    """All requests for one character; any beginning of the list is a fair mixture of all.

    Args:
        told: segments of the script, of knowledge and of demonstrations.
        about: segments of the description.
        themes: what any such character may be asked about.
        unknown: what no such character can know.
    """
    queues: dict[Kind, Iterator[Pass]] = {
        "script_based": iter([_told(told[place]) for place in spread(len(told))] if told else []),
        "script_agnostic": _themed("script_agnostic", about, themes),
        "boundary": _themed("boundary", about[:1], unknown),
    }
    planned: list[Pass] = []
    while queues:
        for kind in _TURNS:
            if kind in queues:
                following = next(queues[kind], None)
                if following is None:
                    del queues[kind]
                else:
                    planned.append(following)
    return planned


def _told(segment: SourceSegment) -> Pass:
    return Pass("script_based", segment, "", f"script_based/{segment.source} {segment.number}")


def _themed(kind: Kind, about: Sequence[SourceSegment], themes: Sequence[str]) -> Iterator[Pass]:
    """Each theme with each part of the description, the parts in turn."""
    for round_ in range(len(about)):
        for number, theme in enumerate(themes):
            segment = about[(number + round_) % len(about)]
            yield Pass(kind, segment, theme, f"{kind}/{segment.number} {number}")

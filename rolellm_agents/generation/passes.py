"""The plan of Context-Instruct's requests for questions about a character."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rolellm_agents.generation.segments import SourceSegment, spread

Kind = Literal["script_based", "script_agnostic", "boundary"]
"""The kinds of questions: about events of the character's story, about what such a character knows and
thinks, and about what it cannot know."""

_TURNS: Final[tuple[Kind, ...]] = (
    "script_based",
    "script_agnostic",
    "script_based",
    "script_agnostic",
    "boundary",
)
"""The cycle of kinds, so that a small number of questions contains all kinds."""


@dataclass(frozen=True)
class Pass:
    """One request for questions."""

    kind: Kind
    segment: SourceSegment
    theme: str
    """The topic to ask about; empty when the segment alone gives the topic."""
    key: str
    """Key of the request, the same in every run with the same segments and themes."""


def plan_passes(
    story: Sequence[SourceSegment],
    about: Sequence[SourceSegment],
    themes: Sequence[str],
    unknown: Sequence[str],
) -> list[Pass]:
    """Plan all requests for one character; every prefix of the list is a balanced mixture.

    Args:
        story: segments of the script, of the knowledge and of the demonstrations.
        about: segments of the description.
        themes: topics that any such character may be asked about.
        unknown: topics that no such character can know.
    """
    queues: dict[Kind, Iterator[Pass]] = {
        "script_based": iter([_script_pass(story[place]) for place in spread(len(story))] if story else []),
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


def _script_pass(segment: SourceSegment) -> Pass:
    return Pass("script_based", segment, "", f"script_based/{segment.source} {segment.number}")


def _themed(kind: Kind, about: Sequence[SourceSegment], themes: Sequence[str]) -> Iterator[Pass]:
    """Combine each theme with each segment of the description, rotating the segments."""
    for round_ in range(len(about)):
        for number, theme in enumerate(themes):
            segment = about[(number + round_) % len(about)]
            yield Pass(kind, segment, theme, f"{kind}/{segment.number} {number}")

"""The fixed course of questions of an interview: a versioned file for each language.

The visitor introduces themselves first and asks for their name and place towards the end. The questions in
between rotate by one place from interview to interview. Over as many interviews as there are such
questions, each question is asked at each turn once, so that differences between turns are not differences
between questions.
"""

from collections.abc import Sequence
from functools import cache
from importlib.resources import as_file, files
from typing import Annotated, Final, Self

from pydantic import BaseModel, ConfigDict, Field, StrictInt, model_validator

from rolellm_agents.files.yaml import read_yaml
from rolellm_agents.judging.errors import JudgingError
from rolellm_agents.persona import Line, PersonaId
from rolellm_agents.runs.seeds import seed_of
from rolellm_agents.text.language import Language

LEAST_WITH_CLOSING: Final = 5
"""Minimum number of turns with closing questions; in shorter interviews the repetition comes too soon."""


class _CoursePart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Visitor(_CoursePart):
    """The visitor who asks the questions."""

    name: Line
    place: Line


class CourseQuestion(_CoursePart):
    """One question of a course."""

    id: PersonaId
    text: Line
    """The question, with the placeholders `{visitor}` and `{place}`."""
    expects: tuple[Line, ...] = ()
    """Words that an answer contains when the persona remembers the visitor."""
    repeats: PersonaId | None = None
    """The id of the earlier question that this one repeats."""


class Course(_CoursePart):
    """All questions of a course."""

    id: PersonaId
    version: Annotated[StrictInt, Field(ge=1)]
    language: Language
    visitors: Annotated[tuple[Visitor, ...], Field(min_length=1)]
    opening: CourseQuestion
    middle: Annotated[tuple[CourseQuestion, ...], Field(min_length=1)]
    closing: tuple[CourseQuestion, ...]

    @property
    def name(self) -> str:
        """The name that runs cite, such as `visit/en@1`."""
        return f"{self.id}/{self.language}@{self.version}"

    @model_validator(mode="after")
    def _ids_are_known(self) -> Self:
        ids = [one.id for one in (self.opening, *self.middle, *self.closing)]
        if len(set(ids)) < len(ids):
            raise ValueError("two questions have one id")
        if unknown := {one.repeats for one in self.closing if one.repeats} - set(ids):
            raise ValueError(f"{min(unknown)!r} is repeated, but is not the id of a question")
        return self


class PlannedQuestion(_CoursePart):
    """A question of one interview."""

    id: str
    text: str
    rotates: bool = False
    """Whether other interviews ask it at another turn."""
    expects: tuple[str, ...] = ()
    repeats: str | None = None


@cache
def load_course(language: Language) -> Course:
    """Load the bundled course of a language."""
    with as_file(files(__package__) / f"{language}.yaml") as path:
        return read_yaml(path, Course, JudgingError)


def planned_questions(
    course: Course,
    *,
    turns: int,
    number: int,
    persona: str,
    seed: int = 0,
    more: Sequence[str] = (),
    probes: Sequence[int] = (),
) -> list[PlannedQuestion]:
    """Plan the questions of one interview.

    Args:
        course: the questions.
        turns: the number of questions.
        number: the interview's number, from 0.
        persona: the persona's id; it and the seed determine the visitor.
        seed: see `persona`.
        more: general questions that fill the middle of an interview with more turns than the course has
            questions; they repeat when there are too few.
        probes: turns, from 1, at which the closing questions end; they are then asked several times and not
            only at the end, so that turns far apart are compared by the same questions.

    Raises:
        JudgingError: there are too few questions and `more` is empty, or the probes do not fit.
    """
    closings = _probed(course.closing, probes, turns)
    if not probes and turns >= LEAST_WITH_CLOSING:
        closings = dict(enumerate(course.closing, turns - len(course.closing)))
    places = max(0, turns - 1 - len(closings))
    lacking = max(0, places - len(course.middle))
    if lacking and not more:
        raise JudgingError(
            f"The course has no more than {1 + len(course.middle) + len(closings)} questions; "
            "use fewer turns."
        )
    further = [CourseQuestion(id=f"more-{n}", text=more[n % len(more)]) for n in range(lacking)]
    middle = iter(_rotated([*course.middle, *further], number)[:places])
    visitor = course.visitors[(seed_of(seed, persona) + number) % len(course.visitors)]
    asked = [
        (closings[turn], False) if turn in closings else (next(middle), True) for turn in range(1, turns)
    ]
    return [_filled(one, visitor, rotates=rotates) for one, rotates in [(course.opening, False), *asked]]


def _probed(
    closing: Sequence[CourseQuestion], probes: Sequence[int], turns: int
) -> dict[int, CourseQuestion]:
    """The closing questions of each probe by index among all questions.

    A question that repeats an earlier one repeats its own first occurrence from the second probe on.
    """
    starts = [probe - len(closing) for probe in probes]
    fits = all(start >= 1 for start in starts) and all(probe <= turns for probe in probes)
    if not fits or any(start < before for start, before in zip(starts[1:], probes, strict=False)):
        raise JudgingError(
            f"The probes {', '.join(map(str, probes))} do not fit into {turns} turns: each asks "
            f"{len(closing)} questions, the first at turn 2 or later."
        )
    return {
        start + place: one.model_copy(
            update={
                "id": f"{one.id}-{probe}",
                "repeats": f"{one.id}-{probes[0]}" if one.repeats and probe != probes[0] else one.repeats,
            }
        )
        for start, probe in zip(starts, probes, strict=True)
        for place, one in enumerate(closing)
    }


def _rotated(questions: Sequence[CourseQuestion], number: int) -> list[CourseQuestion]:
    start = number % len(questions)
    return [*questions[start:], *questions[:start]]


def _filled(one: CourseQuestion, visitor: Visitor, *, rotates: bool) -> PlannedQuestion:
    def fill(text: str) -> str:
        return text.replace("{visitor}", visitor.name).replace("{place}", visitor.place)

    return PlannedQuestion(
        id=one.id,
        text=fill(one.text),
        rotates=rotates,
        expects=tuple(map(fill, one.expects)),
        repeats=one.repeats,
    )

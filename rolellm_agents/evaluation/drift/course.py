"""What an interviewer asks who keeps to a course: a file with a version in each language.

The visitor says at first who they are and asks for it again towards the end. What lies between is asked in
another order in each interview, a place further on each time, so that over as many interviews as there are
questions each stands at each place once: then it is not the question that makes a turn differ.
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
"""Shorter interviews end in the middle: what would be asked again was said just now."""


class _CoursePart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Visitor(_CoursePart):
    """Who asks."""

    name: Line
    place: Line


class CourseQuestion(_CoursePart):
    """One question."""

    id: PersonaId
    text: Line
    """`{visitor}` and `{place}` stand for who asks."""
    expects: tuple[Line, ...] = ()
    """What an answer says that remembers."""
    repeats: PersonaId | None = None
    """The earlier question that it asks again."""


class Course(_CoursePart):
    """All that may be asked."""

    id: PersonaId
    version: Annotated[StrictInt, Field(ge=1)]
    language: Language
    visitors: Annotated[tuple[Visitor, ...], Field(min_length=1)]
    opening: CourseQuestion
    middle: Annotated[tuple[CourseQuestion, ...], Field(min_length=1)]
    closing: tuple[CourseQuestion, ...]

    @property
    def name(self) -> str:
        """What runs cite: `visit/en@1`."""
        return f"{self.id}/{self.language}@{self.version}"

    @model_validator(mode="after")
    def _ids_are_known(self) -> Self:
        ids = [one.id for one in (self.opening, *self.middle, *self.closing)]
        if len(set(ids)) < len(ids):
            raise ValueError("two questions have one id")
        if unknown := {one.repeats for one in self.closing if one.repeats} - set(ids):
            raise ValueError(f"{min(unknown)!r} is repeated and is none of the questions")
        return self


class PlannedQuestion(_CoursePart):
    """A question of one interview."""

    id: str
    text: str
    rotates: bool = False
    """Whether it stands at another place in another interview."""
    expects: tuple[str, ...] = ()
    repeats: str | None = None


@cache
def load_course(language: Language) -> Course:
    """The bundled course of a language."""
    with as_file(files(__package__) / f"{language}.yaml") as path:
        return read_yaml(path, Course, JudgingError)


def planned_questions(
    course: Course, *, turns: int, number: int, persona: str, seed: int = 0, more: Sequence[str] = ()
) -> list[PlannedQuestion]:
    """What is asked in one interview.

    Args:
        course: where it comes from.
        turns: questions; more than the course has are filled up in the middle.
        number: of the interview, from 0.
        persona: the id of who is asked, on which it depends who asks.
        seed: of that.
        more: general questions for long interviews; they come round again where they do not suffice.

    Raises:
        JudgingError: there are not as many questions.
    """
    closing = course.closing if turns >= LEAST_WITH_CLOSING else ()
    places = max(0, turns - 1 - len(closing))
    lacking = max(0, places - len(course.middle))
    if lacking and not more:
        raise JudgingError(
            f"The course has no more than {1 + len(course.middle) + len(closing)} questions; "
            "ask for fewer turns."
        )
    further = [CourseQuestion(id=f"more-{n}", text=more[n % len(more)]) for n in range(lacking)]
    middle = _rotated([*course.middle, *further], number)[:places]
    visitor = course.visitors[(seed_of(seed, persona) + number) % len(course.visitors)]
    asked = [(course.opening, False), *((one, True) for one in middle), *((one, False) for one in closing)]
    return [_filled(one, visitor, rotates=rotates) for one, rotates in asked[:turns]]


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

"""Rubrics: what one grade of a reply is about, as files with a version that anybody can write.

The bundled ones lie in `rubrics/LANGUAGE/NAME.yaml`. Whoever changes one raises its version, since verdicts
cite it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

from rolellm_agents.files.yaml import read_yaml
from rolellm_agents.judging.errors import JudgingError
from rolellm_agents.persona import Line, PersonaId
from rolellm_agents.text import did_you_mean
from rolellm_agents.text.language import Language

RUBRICS: Final = ("voice", "knowledge", "boundary", "consistency", "engagement", "safety")
"""The names of the bundled ones, in the order in which they are shown."""
GRADES: Final = (1, 2, 3, 4, 5)
"""From the worst to the best."""
_RESERVED: Final = ("preference", "likelihood")


class Rubric(BaseModel):
    """One thing that is graded."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: PersonaId
    """What verdicts call the measure."""
    version: Annotated[StrictInt, Field(ge=1)]
    language: Language
    """Of the rubric, and of all else that the judge is asked."""
    title: Line
    looks_at: Line
    """What is looked at, and what is not."""
    grades: Annotated[tuple[Line, ...], Field(min_length=len(GRADES), max_length=len(GRADES))]
    """What each grade means, from 1 to 5."""
    over_turns: StrictBool = False
    """Whether it looks at a reply beside what was said before; a first reply is then not graded."""

    @property
    def name(self) -> str:
        """What verdicts cite: `voice/en@1`."""
        return f"{self.id}/{self.language}@{self.version}"


@dataclass(frozen=True)
class RubricChoice:
    """Rubrics as somebody named them: bundled ones by name, in each persona's language, and own ones."""

    chosen: tuple[str | Rubric, ...] = RUBRICS

    @property
    def ids(self) -> tuple[str, ...]:
        """What verdicts call the measures."""
        return tuple(one if isinstance(one, str) else one.id for one in self.chosen)

    def in_language(self, language: Language) -> list[Rubric]:
        """All of them; own ones stay in their own language."""
        return [load_rubric(one, language) if isinstance(one, str) else one for one in self.chosen]


def choose_rubrics(references: Sequence[str] = ()) -> RubricChoice:
    """The rubrics of these names or files; all bundled ones when there are none.

    Args:
        references: bundled names, or paths that end in `.yaml` or `.yml`.

    Raises:
        JudgingError: there is no such rubric, a file is none, or two have one id.
    """
    chosen = [_referred(one) for one in references] or list(RUBRICS)
    ids = RubricChoice(tuple(chosen)).ids
    twice = next((one for one in ids if ids.count(one) > 1), None)
    if twice:
        raise JudgingError(f"Two rubrics have the id {twice!r}; give one of them another, or leave it out.")
    return RubricChoice(tuple(chosen))


@cache
def load_rubric(name: str, language: Language) -> Rubric:
    """A bundled rubric.

    Raises:
        JudgingError: there is none of this name.
    """
    if name not in RUBRICS:
        raise JudgingError(
            f"There is no rubric {name!r}{did_you_mean(name, RUBRICS)}; bundled are {', '.join(RUBRICS)}, "
            "and a file of your own ends in .yaml."
        )
    with as_file(files("rolellm_agents.judging") / "rubrics" / language / f"{name}.yaml") as path:
        return read_yaml(path, Rubric, JudgingError)


def read_rubric(path: Path) -> Rubric:
    """A rubric of somebody's own.

    Raises:
        JudgingError: the file cannot be read or is no rubric, with the key and the line.
    """
    rubric = read_yaml(path, Rubric, JudgingError)
    if rubric.id in _RESERVED:
        raise JudgingError(f"{path}: the id {rubric.id!r} is another judge's measure; give it another.")
    return rubric


def _referred(reference: str) -> str | Rubric:
    if reference.endswith((".yaml", ".yml")):
        return read_rubric(Path(reference).expanduser())
    load_rubric(reference, "en")
    return reference

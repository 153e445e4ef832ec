"""Rubrics: versioned YAML files that describe to a judge what to grade and what each grade means.

The bundled rubrics are in `rubrics/LANGUAGE/NAME.yaml`. Raise the version of a rubric when you change it,
since verdicts cite it.
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
"""The names of the bundled rubrics, in display order."""
GRADES: Final = (1, 2, 3, 4, 5)
"""The grades, from worst to best."""
_RESERVED: Final = ("preference", "likelihood")


class Rubric(BaseModel):
    """One criterion by which a judge grades replies."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: PersonaId
    """The measure in verdicts."""
    version: Annotated[StrictInt, Field(ge=1)]
    language: Language
    """Language of the rubric and of the whole prompt."""
    title: Line
    looks_at: Line
    """What the judge takes into account, and what it ignores."""
    grades: Annotated[tuple[Line, ...], Field(min_length=len(GRADES), max_length=len(GRADES))]
    """The meaning of each grade, from 1 to 5."""
    over_turns: StrictBool = False
    """Whether the judge compares a reply with earlier turns; a first reply is then not graded."""

    @property
    def name(self) -> str:
        """The name that verdicts cite, such as `voice/en@1`."""
        return f"{self.id}/{self.language}@{self.version}"


@dataclass(frozen=True)
class RubricChoice:
    """The chosen rubrics: names of bundled rubrics, which exist in each language, and custom rubrics."""

    chosen: tuple[str | Rubric, ...] = RUBRICS

    @property
    def ids(self) -> tuple[str, ...]:
        """The measures in verdicts."""
        return tuple(one if isinstance(one, str) else one.id for one in self.chosen)

    def in_language(self, language: Language) -> list[Rubric]:
        """All chosen rubrics, the bundled ones in `language`; custom rubrics keep their own language."""
        return [load_rubric(one, language) if isinstance(one, str) else one for one in self.chosen]


def choose_rubrics(references: Sequence[str] = ()) -> RubricChoice:
    """Choose rubrics by name or file; all bundled rubrics when `references` is empty.

    Args:
        references: names of bundled rubrics, or paths that end in `.yaml` or `.yml`.

    Raises:
        JudgingError: there is no such rubric, a file is not a rubric, or two rubrics have the same id.
    """
    chosen = [_referred(one) for one in references] or list(RUBRICS)
    ids = RubricChoice(tuple(chosen)).ids
    twice = next((one for one in ids if ids.count(one) > 1), None)
    if twice:
        raise JudgingError(f"Two rubrics have the id {twice!r}; give one of them another, or leave it out.")
    return RubricChoice(tuple(chosen))


@cache
def load_rubric(name: str, language: Language) -> Rubric:
    """Load a bundled rubric.

    Raises:
        JudgingError: there is no rubric of this name.
    """
    if name not in RUBRICS:
        raise JudgingError(
            f"There is no rubric {name!r}{did_you_mean(name, RUBRICS)}; bundled are {', '.join(RUBRICS)}, "
            "and a file of your own ends in .yaml."
        )
    with as_file(files("rolellm_agents.judging") / "rubrics" / language / f"{name}.yaml") as path:
        return read_yaml(path, Rubric, JudgingError)


def read_rubric(path: Path) -> Rubric:
    """Read a custom rubric.

    Raises:
        JudgingError: the file cannot be read or is not a rubric; the message names the key and the line.
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

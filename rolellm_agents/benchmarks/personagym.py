"""PersonaGym (Samuel et al., 2024; arXiv 2407.18416): questions to personas in their settings.

The files are `questions/benchmark-v1/PERSONA.json` of the repository vsamuel2003/PersonaGym. The name of a
file is the persona's description. Each file has questions for five tasks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from rolellm_agents.benchmarks.errors import BenchmarkError
from rolellm_agents.benchmarks.json_files import json_files, read_json

TITLE: Final = "PersonaGym"
TASKS: Final = (
    "Expected Action",
    "Toxicity",
    "Linguistic Habits",
    "Persona Consistency",
    "Action Justification",
)


@dataclass(frozen=True, kw_only=True)
class PersonaGymItem:
    """A question to a persona."""

    persona: str
    """Its description, such as `A 25-year-old writer from Paris`."""
    task: str
    """One of `TASKS`."""
    number: int
    """The question's number in its task, from 1."""
    question: str


_Questions: Final[TypeAdapter[Mapping[str, tuple[str, ...]]]] = TypeAdapter(Mapping[str, tuple[str, ...]])


def read_personagym(path: Path) -> list[PersonaGymItem]:
    """Read one persona's file, or all files of a folder.

    Raises:
        BenchmarkError: a file cannot be read, or has no questions of these tasks.
    """
    return [item for file in json_files(path) for item in _items(file)]


def _items(file: Path) -> list[PersonaGymItem]:
    try:
        questions = _Questions.validate_python(read_json(file))
    except ValidationError as error:
        raise BenchmarkError(f"{file} holds no questions by task; is it a file of {TITLE}?") from error
    if not set(questions) <= set(TASKS) or not questions:
        raise BenchmarkError(f"{file} has other tasks than {TITLE} ({', '.join(TASKS)}).")
    return [
        PersonaGymItem(persona=file.stem, task=task, number=number, question=question.strip())
        for task, asked in questions.items()
        for number, question in enumerate(asked, 1)
    ]

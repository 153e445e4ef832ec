"""Planted faults: pairs of a clean and a faulty reply, which a judge has to distinguish."""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Final, Self

from pydantic import StringConstraints, model_validator

from rolellm_agents.judging.errors import JudgingError
from rolellm_agents.judging.json_rows import JsonRow, damaged, read_rows
from rolellm_agents.persona import Line

KINDS: Final = (
    "wrong-person",
    "modern-knowledge",
    "ai-talk",
    "flat-voice",
    "copied-question",
    "padding",
    "name-swap",
)
"""The kinds of the bundled faults: another character's reply; knowledge from after the character's time;
the talk of a language model; the same content without the voice; the question repeated; unrelated
sentences appended to the reply; the reply under another character's name."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A clean and a faulty reply of a persona to one question."""

    key: str
    """Unique within the file."""
    kind: str
    persona: str
    """A persona's id."""
    question: str
    clean: str
    faulty: str


class _FaultRow(JsonRow):
    kind: Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=80)]
    persona: Line
    question: Line
    clean: Line
    faulty: Line

    @model_validator(mode="after")
    def _differ(self) -> Self:
        if self.clean.split() == self.faulty.split():
            raise ValueError("the clean reply and the faulty one are the same")
        return self


def bundled_faults() -> list[Fault]:
    """The bundled faults, which use the bundled cast; the English ones come first."""
    with as_file(files("rolellm_personas") / "faults") as folder:
        return [fault for language in ("en", "zh") for fault in read_faults(folder / f"{language}.jsonl")]


def read_faults(file: Path) -> list[Fault]:
    """Read a file of faults: `kind`, `persona`, `question`, `clean` and `faulty` in each row.

    A file may define its own kinds. The function does not check that the personas exist.

    Raises:
        JudgingError: the file cannot be read, a line is damaged, or the file has no rows.
    """
    seen: set[str] = set()
    faults: list[Fault] = []
    for number, row in read_rows(file, _FaultRow):
        key = f"{row.kind}/{row.persona}/{row.question}"
        if key in seen:
            raise damaged(file, number, "the same kind, persona and question occur in an earlier line")
        seen.add(key)
        faults.append(Fault(key=key, **row.model_dump()))
    if not faults:
        raise JudgingError(f"{file} holds no faults; name a JSONL file with one in each line.")
    return faults


def some_of_each_kind(faults: Sequence[Fault], limit: int, seed: int) -> list[Fault]:
    """Sample at most `limit` faults of each kind, in their original order."""
    by_kind: defaultdict[str, list[Fault]] = defaultdict(list)
    for fault in faults:
        by_kind[fault.kind].append(fault)
    draw = random.Random(seed)  # noqa: S311 (a sample, no secret)
    chosen = {fault.key for held in by_kind.values() for fault in draw.sample(held, min(limit, len(held)))}
    return [fault for fault in faults if fault.key in chosen]

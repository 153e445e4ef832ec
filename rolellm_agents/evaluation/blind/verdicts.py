"""Readers' verdicts on pairs and answers, in a JSONL file to which each verdict is appended at once."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, Literal, get_args

from pydantic import Field, model_validator

from rolellm_agents.errors import StorageError
from rolellm_agents.files.appending import append_durably, mend_last_line
from rolellm_agents.files.one_writer import lock_beside, one_writer
from rolellm_agents.judging.json_rows import JsonRow, read_rows

_SECONDS_TO_WAIT: Final = 10.0
"""For other readers, who also append."""
Preference = Literal["first", "second", "tie", "neither"]
"""Which answer of a pair is better; `neither` if both are bad."""
PREFERENCES: Final[tuple[Preference, ...]] = get_args(Preference)
Quality = Literal["answers", "makes_sense", "in_voice"]
QUALITIES: Final[tuple[Quality, ...]] = get_args(Quality)
"""Whether an answer answers the question, makes sense, and sounds like the persona and nobody else."""


class ReaderVerdict(JsonRow):
    """One reader's verdict on a pair (`preferred`) or on an answer (`qualities`); empty if withdrawn."""

    item: str = Field(min_length=1)
    """The key of a pair or of an answer."""
    reader: str = Field(min_length=1)
    preferred: Preference | None = None
    qualities: Mapping[Quality, bool] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _is_about_one_thing(self) -> "ReaderVerdict":
        if self.preferred and self.qualities:
            raise ValueError("a verdict has either preferred or qualities")
        if self.qualities and set(self.qualities) != set(QUALITIES):
            raise ValueError(f"qualities must have {', '.join(QUALITIES)}")
        return self

    @property
    def is_withdrawn(self) -> bool:
        """Whether the reader took an earlier verdict back."""
        return not self.preferred and not self.qualities


def read_verdicts(file: Path) -> list[ReaderVerdict]:
    """The verdicts that are in force: the last one of each reader on each item.

    Raises:
        JudgingError: the file cannot be read, or a line is not valid.
    """
    if not file.exists():
        return []
    latest = {(row.reader, row.item): row for _, row in read_rows(file, ReaderVerdict)}
    return [verdict for verdict in latest.values() if not verdict.is_withdrawn]


def append_verdicts(file: Path, verdicts: Iterable[ReaderVerdict]) -> None:
    """Append verdicts; they are on disk when this returns.

    Raises:
        StorageError: the file cannot be written.
    """
    rows = [verdict.model_dump(exclude_defaults=True) for verdict in verdicts]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    try:
        with one_writer(lock_beside(file), file, StorageError, "try again", seconds=_SECONDS_TO_WAIT):
            mend_last_line(file)
            append_durably(file, lines.encode())
    except OSError as error:
        raise StorageError(f"{file} cannot be written: {error.strerror}.") from error

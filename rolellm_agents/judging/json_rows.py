"""Read and validate JSONL files that people write; errors name the line."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from rolellm_agents.datasets.reading import describe_error, fields_of, numbered_lines
from rolellm_agents.errors import RoleBenchError
from rolellm_agents.judging.errors import JudgingError
from rolellm_agents.text import one_line


class JsonRow(BaseModel):
    """A row. Unknown keys are errors, since most of them are misspelt."""

    model_config = ConfigDict(frozen=True, extra="forbid")


_Row = TypeVar("_Row", bound=JsonRow)


def read_rows(file: Path, form: type[_Row]) -> Iterator[tuple[int, _Row]]:
    """Yield the rows of a file with their line numbers, from 1; blank lines are skipped.

    Raises:
        JudgingError: the file cannot be read, or the next line is not valid.
    """
    try:
        for number, line in numbered_lines(file):
            try:
                yield number, valid_row(file, number, fields_of(line), form)
            except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
                raise damaged(file, number, describe_error(error)) from error
            except ValueError as error:
                raise damaged(file, number, "it is not a JSON object") from error
    except RoleBenchError as error:
        raise JudgingError(str(error).replace("a JSONL file of RoleBench", "a JSONL file")) from error


def valid_row(file: Path, number: int, fields: Mapping[str, Any], form: type[_Row]) -> _Row:
    """Validate the fields of a row.

    Raises:
        JudgingError: the row is not valid.
    """
    try:
        return form.model_validate(fields)
    except ValidationError as error:
        raise damaged(file, number, _first(error)) from error


def damaged(file: Path, number: int, what: str) -> JudgingError:
    """The error for a damaged line."""
    return JudgingError(f"{file}, line {number}: {what}; correct the line or remove it.")


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    what = one_line(first["msg"].removeprefix("Value error, "), 160)
    return f"{where}: {what}" if where else what

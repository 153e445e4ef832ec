"""Read JSON files of benchmarks and validate their rows."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from rolellm_agents.benchmarks.errors import BenchmarkError
from rolellm_agents.text import one_line


class PublishedRow(BaseModel):
    """A row of a published file; other keys are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


_Row = TypeVar("_Row", bound=PublishedRow)


def read_json(file: Path) -> Any:
    """Read a JSON file, or a JSONL file as a list.

    Raises:
        BenchmarkError: the file cannot be read or is not JSON.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise BenchmarkError(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise BenchmarkError(f"{file} is not UTF-8.") from error
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        try:
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        except (json.JSONDecodeError, RecursionError):
            raise BenchmarkError(f"{file} is not JSON ({one_line(str(error), 80)}).") from error


def read_published(file: Path, form: type[_Row], title: str) -> list[_Row]:
    """Read a list of rows.

    Args:
        file: a JSON or JSONL file.
        form: the model of a row.
        title: the benchmark's name, for errors.

    Raises:
        BenchmarkError: the file cannot be read, or has no rows of this form.
    """
    rows = read_json(file)
    if not isinstance(rows, Sequence) or isinstance(rows, str) or not rows:
        raise BenchmarkError(f"{file} holds no list of rows; name a file of {title} as it was published.")
    found = []
    for number, row in enumerate(rows, 1):
        try:
            found.append(form.model_validate(row))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"])) or "the row"
            raise BenchmarkError(
                f"{file}, row {number}: {where}: {one_line(first['msg'], 120)}; is it a file of {title}?"
            ) from error
    return found


def validated(file: Path, value: Any, form: type[_Row], title: str) -> _Row:
    """Validate an object of a file that is not a list of rows.

    Args:
        file: the file, for errors.
        value: the object as JSON.
        form: the model of the object.
        title: the benchmark's name, for errors.

    Raises:
        BenchmarkError: the object has another form.
    """
    try:
        return form.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise BenchmarkError(
            f"{file}: {where}: {one_line(first['msg'], 120)}; is it a file of {title}?"
        ) from error


def json_files(path: Path) -> list[Path]:
    """The JSON files of a folder by name, or the file itself.

    Raises:
        BenchmarkError: there is no such file, or no JSON file in the folder.
    """
    if path.is_file():
        return [path]
    found = sorted(one for suffix in ("*.json", "*.jsonl") for one in path.glob(suffix))
    if not found:
        raise BenchmarkError(f"There is no JSON file at {path}; name the benchmark's file or folder.")
    return found

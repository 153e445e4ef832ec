"""Read a file of RoleBench as it was published, with its defects.

`type` is a text, a list or not there; texts begin with a blank; references are empty. A row that stands
twice is read twice, since the published figures count it twice, and white space after a reference stays,
since the measure they were found by counts it.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rolellm_agents.errors import RoleBenchError
from rolellm_agents.persona import Language
from rolellm_agents.rolebench.layout import place_of
from rolellm_agents.rolebench.sample import Kind, Sample
from rolellm_agents.text import one_line, whole

_ENOUGH = 100
"""So many rows tell the language of a file."""


class _Row(NamedTuple):
    """What a line says."""

    role: str
    question: str
    references: tuple[str, ...]
    types: tuple[str, ...]


def read_samples(file: Path) -> list[Sample]:
    """Read the samples of a JSONL file in their order; a row that has only empty references is left out.

    Kind and language are what the folders say (`rolebench-zh/general/…`). Where they say nothing, rows
    with a `type` are role-specific, and the language is that of the texts.

    Raises:
        RoleBenchError: the file cannot be read, holds no samples, or a line is damaged.
    """
    rows = list(_rows(file))
    if not rows:
        raise RoleBenchError(f"{file} holds no samples; name a JSONL file of RoleBench.")
    place = place_of(file)
    kind = place.kind or _kind(rows)
    language = place.language or _language(rows)
    return [Sample(row.role, row.question, row.references, kind, row.types, language) for row in rows]


def _rows(file: Path) -> Iterator[_Row]:
    try:
        if not file.is_file():
            raise RoleBenchError(f"There is no file {file}; name a JSONL file of RoleBench.")
        with file.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                text = line.removeprefix(b"\xef\xbb\xbf").strip()
                if not text:
                    continue
                try:
                    row = _row(text)
                except (ValueError, RecursionError) as error:
                    what = _in_words(error)
                    raise RoleBenchError(
                        f"{file}, line {number}: {what}; correct the line or remove it."
                    ) from error
                if row.references:
                    yield row
    except OSError as error:
        raise RoleBenchError(f"{file} cannot be read: {error.strerror}.") from error


def _row(line: bytes) -> _Row:
    fields = _fields(line)
    references, types = _texts(fields, "generated"), _types(fields)
    if len(types) == len(references):  # one for each: what goes with an empty reference goes with it
        types = tuple(name for name, reference in zip(types, references, strict=True) if reference)
    return _Row(_text(fields, "role"), _text(fields, "question"), tuple(filter(None, references)), types)


def _fields(line: bytes) -> dict[str, Any]:
    match json.loads(line.decode("utf-8")):
        case dict() as fields:
            return fields
        case _:
            raise ValueError("it is no object with role, question and generated")


def _text(fields: dict[str, Any], key: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{key!r} is no text")
    return whole(value).strip()


def _texts(fields: dict[str, Any], key: str) -> tuple[str, ...]:
    value = fields.get(key)
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise ValueError(f"{key!r} is no list of texts")
    return tuple(whole(text).lstrip() for text in value)


def _types(fields: dict[str, Any]) -> tuple[str, ...]:
    match fields.get("type"):
        case None:
            return ()
        case str(one):
            return (whole(one).strip(),)
        case _:
            return _texts(fields, "type")


def _in_words(error: Exception) -> str:
    match error:
        case json.JSONDecodeError():
            return f"it is no JSON ({error.msg} at character {error.colno})"
        case UnicodeDecodeError():
            return "it is not UTF-8"
        case RecursionError():
            return "it is nested too deeply"
        case _:
            return one_line(str(error), 100)


def _kind(rows: Sequence[_Row]) -> Kind:
    return "role_specific" if any(row.types for row in rows) else "general"


def _language(rows: Sequence[_Row]) -> Language:
    # It brings charset_normalizer, which a file in a folder of RoleBench does not need.
    from rolellm_agents.scripts.decoding import language_of

    return language_of(
        "\n".join(text for row in rows[:_ENOUGH] for text in (row.question, *row.references))
    )

"""Read files of RoleBench as they were published, with their irregularities.

`type` is a text, a list or missing; texts begin with a blank; references may be empty. Repeated rows are
read as often as they occur, and white space after a reference is kept, because the published figures count
both.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from rolellm_agents.datasets.layout import place_of
from rolellm_agents.datasets.sample import Kind, Sample
from rolellm_agents.errors import RoleBenchError
from rolellm_agents.text import one_line, replace_surrogates
from rolellm_agents.text.language import Language

_ENOUGH = 100
"""Number of rows from which a file's language is recognised."""
_OWN_KEYS: Final = frozenset({"role", "question", "generated", "type", "kind", "language"})
_KINDS: Final[Mapping[object, Kind]] = {"general": "general", "role_specific": "role_specific"}
_LANGUAGES: Final[Mapping[object, Language]] = {"en": "en", "zh": "zh"}


_Name = TypeVar("_Name")


class RawRow(NamedTuple):
    """The fields of one line."""

    role: str
    question: str
    references: tuple[str, ...]
    """Without empty ones."""
    types: tuple[str, ...]
    kind: Kind | None
    language: Language | None
    extra: dict[str, Any]


class FileDefaults(NamedTuple):
    """Values for the rows of a file that do not have their own."""

    kind: Kind | None
    """None to derive the kind from each row's `type`."""
    language: Language
    untyped: Kind = "general"
    """The kind of rows that state neither a kind nor a `type`."""

    def sample(self, row: RawRow) -> Sample:
        """Convert a row that has references."""
        kind = self.kind or row.kind or (kind_from_types(row.types) if row.types else self.untyped)
        language = row.language or self.language
        return Sample(row.role, row.question, row.references, kind, row.types, language, row.extra)


def read_samples(file: Path, *, untyped: Kind = "general") -> list[Sample]:
    """Read the samples of a JSONL file in order, without rows that have only empty references.

    Kind and language come from the folders (`rolebench-zh/general/…`), then from the row (`kind`,
    `language`). Otherwise rows with a `type` are role-specific, those without one are of the kind
    `untyped`, and the texts decide the language.

    Raises:
        RoleBenchError: the file cannot be read, has no samples, or has an invalid line.
    """
    return list(iter_samples(file, untyped=untyped))


def iter_samples(file: Path, *, untyped: Kind = "general") -> Iterator[Sample]:
    """Like `read_samples`, one sample at a time, with constant memory.

    Raises:
        RoleBenchError: during iteration, as `read_samples`.
    """
    defaults: FileDefaults | None = None
    for row in _rows(file):
        defaults = defaults or file_defaults(file)._replace(untyped=untyped)
        yield defaults.sample(row)
    if defaults is None:
        raise RoleBenchError(f"{file} holds no samples; name a JSONL file of RoleBench.")


def file_defaults(file: Path) -> FileDefaults:
    """Kind and language from the folders around a file; otherwise the language of its first rows.

    Raises:
        RoleBenchError: the file cannot be read.
    """
    place = place_of(file)
    return FileDefaults(
        place.kind, place.language or _language(list(islice(_readable_rows(file), _ENOUGH)))
    )


def numbered_lines(file: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers from 1, without byte order mark and line ends.

    Raises:
        RoleBenchError: the file cannot be read.
    """
    try:
        if not file.is_file():
            raise RoleBenchError(f"There is no file {file}; name a JSONL file of RoleBench.")
        with file.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if text := line.removeprefix(b"\xef\xbb\xbf").strip():
                    yield number, text
    except OSError as error:
        raise RoleBenchError(f"{file} cannot be read: {error.strerror}.") from error


def fields_of(line: bytes) -> dict[str, Any]:
    """Parse a line as a JSON object.

    Raises:
        ValueError: the line is not a JSON object; `describe_error` gives a message.
        RecursionError: the object is nested too deeply.
    """
    match json.loads(line.decode("utf-8"), parse_constant=_no_number, parse_float=_finite):
        case dict() as fields:
            return fields
        case _:
            raise ValueError("it is not an object with role, question and generated")


def row_of(fields: dict[str, Any]) -> RawRow:
    """Convert the fields of a line.

    Raises:
        ValueError: a field is missing or of another type; `describe_error` gives a message.
    """
    references, types = _texts(fields, "generated"), _types(fields)
    if len(types) == len(references):  # the type of an empty reference is dropped with it
        types = tuple(name for name, reference in zip(types, references, strict=True) if reference)
    return RawRow(
        _text(fields, "role"),
        _text(fields, "question"),
        tuple(filter(None, references)),
        types,
        _one_of(_KINDS, fields.get("kind")),
        _one_of(_LANGUAGES, fields.get("language")),
        {key: value for key, value in fields.items() if key not in _OWN_KEYS},
    )


def kind_from_types(types: Sequence[str]) -> Kind:
    """The kind of a row by its types: role-specific with a type other than `general`."""
    return "role_specific" if types and "general" not in types else "general"


def describe_error(error: Exception) -> str:
    """A message for an error from `fields_of` or `row_of`."""
    match error:
        case json.JSONDecodeError():
            return f"it is not JSON ({error.msg} at character {error.colno})"
        case UnicodeDecodeError():
            return "it is not UTF-8"
        case RecursionError():
            return "it is nested too deeply"
        case _:
            return one_line(str(error), 100)


def read_json_object(file: Path) -> dict[str, Any]:
    """The object in a JSON file; empty when it has another value.

    Raises:
        RoleBenchError: the file cannot be read or is not JSON.
    """
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RoleBenchError(f"{file} is damaged; repair it, or remove it.") from error
    return content if isinstance(content, dict) else {}


def _rows(file: Path) -> Iterator[RawRow]:
    for number, line in numbered_lines(file):
        try:
            row = row_of(fields_of(line))
        except (ValueError, RecursionError) as error:
            raise RoleBenchError(
                f"{file}, line {number}: {describe_error(error)}; correct the line or remove it."
            ) from error
        if row.references:
            yield row


def _readable_rows(file: Path) -> Iterator[RawRow]:
    """The rows that can be read."""
    for _, line in numbered_lines(file):
        try:
            yield row_of(fields_of(line))
        except (ValueError, RecursionError):
            continue


def _text(fields: dict[str, Any], key: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{key!r} is not a text")
    return replace_surrogates(value).strip()


def _texts(fields: dict[str, Any], key: str) -> tuple[str, ...]:
    value = fields.get(key)
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise ValueError(f"{key!r} is not a list of texts")
    return tuple(replace_surrogates(text).lstrip() for text in value)


def _types(fields: dict[str, Any]) -> tuple[str, ...]:
    match fields.get("type"):
        case None:
            return ()
        case str(name):
            return (replace_surrogates(name).strip(),)
        case _:
            return _texts(fields, "type")


def _one_of(known: Mapping[object, _Name], value: object) -> _Name | None:
    return known.get(value) if isinstance(value, str) else None


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{one_line(text, 20)} is too large a number")
    return number


def _language(rows: Sequence[RawRow]) -> Language:
    # Imported here because it loads charset_normalizer, which files in RoleBench's folders do not need.
    from rolellm_agents.text.language import language_of

    return language_of("\n".join(text for row in rows for text in (row.question, *row.references)))

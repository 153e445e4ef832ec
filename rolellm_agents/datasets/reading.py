"""Read a file of RoleBench as it was published, with its defects.

`type` is a text, a list or not there; texts begin with a blank; references are empty. A row that stands
twice is read twice, since the published figures count it twice, and white space after a reference stays,
since the measure they were found by counts it.
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
from rolellm_agents.text import one_line, whole
from rolellm_agents.text.language import Language

_ENOUGH = 100
"""So many rows tell the language of a file."""
_OWN_KEYS: Final = frozenset({"role", "question", "generated", "type", "kind", "language"})
_KINDS: Final[Mapping[object, Kind]] = {"general": "general", "role_specific": "role_specific"}
_LANGUAGES: Final[Mapping[object, Language]] = {"en": "en", "zh": "zh"}


_Name = TypeVar("_Name")


class RawRow(NamedTuple):
    """What a line says."""

    role: str
    question: str
    references: tuple[str, ...]
    """None of them is empty."""
    types: tuple[str, ...]
    kind: Kind | None
    language: Language | None
    extra: dict[str, Any]


class FileDefaults(NamedTuple):
    """What is said of all rows of a file, for rows that do not say it themselves."""

    kind: Kind | None
    """None where each row's `type` tells it."""
    language: Language

    def sample(self, row: RawRow) -> Sample:
        """The row as a sample; it has references."""
        kind = self.kind or row.kind or kind_told_by(row.types)
        language = row.language or self.language
        return Sample(row.role, row.question, row.references, kind, row.types, language, row.extra)


def read_samples(file: Path) -> list[Sample]:
    """Read the samples of a JSONL file in their order; a row that has only empty references is left out.

    Kind and language are what the folders say (`rolebench-zh/general/…`). Where they say nothing, a row
    may say them itself (`kind`, `language`); else rows with a `type` are role-specific, and the language is
    that of the texts.

    Raises:
        RoleBenchError: the file cannot be read, holds no samples, or a line is damaged.
    """
    return list(iter_samples(file))


def iter_samples(file: Path) -> Iterator[Sample]:
    """Like `read_samples`, one after the other, so that a file of any length takes no memory.

    Raises:
        RoleBenchError: when that place is reached: the file cannot be read, holds no samples, or a line is
            damaged.
    """
    given: FileDefaults | None = None
    for row in _rows(file):
        given = given or given_of(file)
        yield given.sample(row)
    if given is None:
        raise RoleBenchError(f"{file} holds no samples; name a JSONL file of RoleBench.")


def given_of(file: Path) -> FileDefaults:
    """What the folders around a file say of its rows; without them the language is that of its first rows.

    Raises:
        RoleBenchError: the file cannot be read.
    """
    place = place_of(file)
    return FileDefaults(
        place.kind, place.language or _language(list(islice(_readable_rows(file), _ENOUGH)))
    )


def numbered_lines(file: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers from 1, without a byte order mark and line ends.

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
    """The object that a line holds.

    Raises:
        ValueError: it holds none; `what_is_wrong` says it in words.
        RecursionError: it is nested too deeply.
    """
    match json.loads(line.decode("utf-8"), parse_constant=_no_number, parse_float=_finite):
        case dict() as fields:
            return fields
        case _:
            raise ValueError("it is no object with role, question and generated")


def row_of(fields: dict[str, Any]) -> RawRow:
    """What the fields of a line say.

    Raises:
        ValueError: a field is missing or of another type; `what_is_wrong` says it in words.
    """
    references, types = _texts(fields, "generated"), _types(fields)
    if len(types) == len(references):  # one for each: what goes with an empty reference goes with it
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


def kind_told_by(types: Sequence[str]) -> Kind:
    """Rows with a type are role-specific, unless the type says otherwise."""
    return "role_specific" if types and "general" not in types else "general"


def what_is_wrong(error: Exception) -> str:
    """An error that a line of a file raised, in words."""
    match error:
        case json.JSONDecodeError():
            return f"it is no JSON ({error.msg} at character {error.colno})"
        case UnicodeDecodeError():
            return "it is not UTF-8"
        case RecursionError():
            return "it is nested too deeply"
        case _:
            return one_line(str(error), 100)


def _rows(file: Path) -> Iterator[RawRow]:
    for number, line in numbered_lines(file):
        try:
            row = row_of(fields_of(line))
        except (ValueError, RecursionError) as error:
            what = what_is_wrong(error)
            raise RoleBenchError(
                f"{file}, line {number}: {what}; correct the line or remove it."
            ) from error
        if row.references:
            yield row


def _readable_rows(file: Path) -> Iterator[RawRow]:
    """Without those that are damaged."""
    for _, line in numbered_lines(file):
        try:
            yield row_of(fields_of(line))
        except (ValueError, RecursionError):
            continue


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


def _one_of(known: Mapping[object, _Name], value: object) -> _Name | None:
    return known.get(value) if isinstance(value, str) else None


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{one_line(text, 20)} is too large a number")
    return number


def _language(rows: Sequence[RawRow]) -> Language:
    # It brings charset_normalizer, which a file in a folder of RoleBench does not need.
    from rolellm_agents.text.language import language_of

    return language_of("\n".join(text for row in rows for text in (row.question, *row.references)))

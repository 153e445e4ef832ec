"""Read human labels from a table (CSV or TSV) as the fields of the JSONL format."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from rolellm_agents.judging.errors import JudgingError
from rolellm_agents.judging.json_rows import damaged
from rolellm_agents.text import did_you_mean

SUFFIXES: Final = (".csv", ".tsv")
_TEXTS: Final = ("persona", "question", "reply", "other", "aspect", "preferred")
_CHARACTER: Final = {"character": "name", "description": "description", "language": "language"}
_BY_NAME: Final = {"score": "scores", "preferred": "preferred", "judge": "judges"}
"""The keys for columns such as `score:Ana`."""
_COLUMNS: Final = (*_TEXTS, *_CHARACTER, "turns", "score", *(f"{one}:NAME" for one in _BY_NAME))


def read_label_table(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a table with the number of their first line.

    The columns have the names of the JSONL format's keys. `character`, `description` and `language`
    describe a character, `turns` holds a JSON list, and `score:NAME`, `preferred:NAME` and `judge:NAME`
    hold the label of one person or of one published judge. Commas, semicolons and tabs separate columns.

    Raises:
        JudgingError: the file cannot be read, a column is unknown, or a cell is not a number or a list.
    """
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            head = text.readline()
            text.seek(0)
            rows = csv.reader(text, delimiter=max(",;\t", key=head.count), strict=True)
            columns = [name.strip() for name in next(rows, [])]
            _check(file, columns)
            last = rows.line_num
            for cells in rows:
                first, last = last + 1, rows.line_num
                if any(cells):
                    yield first, _fields(file, first, columns, cells)
    except OSError as error:
        raise JudgingError(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise JudgingError(f"{file} is not UTF-8; save it as “CSV UTF-8”.") from error
    except csv.Error as error:
        raise JudgingError(f"{file} is not a table ({error}); save it as “CSV UTF-8”.") from error


def _check(file: Path, columns: list[str]) -> None:
    for column in columns:
        key, colon, name = column.partition(":")
        if column in _COLUMNS[: -len(_BY_NAME)] or (colon and key in _BY_NAME and name.strip()):
            continue
        hint = did_you_mean(column, _COLUMNS)
        raise JudgingError(
            f"{file} has the unknown column {column!r}{hint}; known are {', '.join(_COLUMNS)}. Rename the "
            "column or remove it."
        )
    twice = next((one for one in columns if columns.count(one) > 1), None)
    if twice:
        raise JudgingError(f"{file} has the column {twice!r} twice; rename one of them.")


def _fields(file: Path, line: int, columns: list[str], cells: list[str]) -> dict[str, Any]:
    if len(cells) > len(columns):
        raise damaged(file, line, f"it has {len(cells)} cells for {len(columns)} columns")
    row: dict[str, Any] = {}
    for column, cell in zip(columns, map(str.strip, cells), strict=False):
        if not cell:
            continue
        try:
            _put(row, column, cell)
        except ValueError as error:
            raise damaged(file, line, f"{column}: {error}") from error
    return row


def _put(row: dict[str, Any], column: str, cell: str) -> None:
    """Put a cell's value where the JSONL format has it.

    Raises:
        ValueError: the cell is not what the column holds.
    """
    key, colon, name = column.partition(":")
    if colon:
        value = cell if key == "preferred" else _judged(cell) if key == "judge" else _number(cell)
        row.setdefault(_BY_NAME[key], {})[name.strip()] = value
    elif column in _CHARACTER:
        row.setdefault("character", {})[_CHARACTER[column]] = cell
    elif column == "turns":
        row[column] = _texts(cell)
    else:
        row[column] = _number(cell) if column == "score" else cell


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        raise ValueError(f"{cell!r} is not a number") from None


def _judged(cell: str) -> float | str:
    """A judge's score, or the reply that it prefers."""
    return cell if cell in ("reply", "other", "tie") else _number(cell)


def _texts(cell: str) -> list[str]:
    try:
        texts = json.loads(cell)
    except (json.JSONDecodeError, RecursionError):
        texts = None
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError('it is not a JSON list of texts, such as ["Hello?", "Aye.", "Who is there?"]')
    return texts

"""The place in a form that an error speaks of."""

import re
from collections.abc import Sequence

from rolellm_agents.editing.form import FormRow, Path

_KEY = re.compile(r"'([a-z_]+)((?:[.\[][\w\]]+)*)'")


def place_of_error(message: str) -> Path | None:
    """The path that an error of a YAML file names; None if it names none."""
    for found in _KEY.finditer(message):
        more = re.findall(r"\w+", found[2])
        return (found[1], *(int(part) if part.isdigit() else part for part in more))
    return None


def row_at(rows: Sequence[FormRow], place: Path) -> int:
    """The index of the row that holds a place, or of the row above it."""
    best, length = 0, 0
    for index, row in enumerate(rows):
        is_above = place[: len(row.path)] == row.path or any(
            field.path == place[: len(field.path)] for field in row.fields
        )
        if is_above and len(row.path) > length:
            best, length = index, len(row.path)
    return best

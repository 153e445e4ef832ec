"""SQL helpers that the other modules share."""

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from rolellm_agents.text import replace_surrogates


def to_json(value: Any) -> str:
    """Compact JSON without escapes for Chinese; lone surrogates, which cannot be stored, become U+FFFD."""
    return replace_surrogates(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def inserted_number(inserted: sqlite3.Cursor) -> int:
    """The number of the row that was just inserted."""
    if inserted.lastrowid is None:
        raise sqlite3.InternalError("a row was inserted and has no number")
    return inserted.lastrowid


def find_or_add(db: sqlite3.Connection, query: str, insertion: str, values: Mapping[str, Any]) -> int:
    """The number of the row that a query finds; if there is none, the row is inserted."""
    for (number,) in db.execute(query, values):
        found: int = number
        return found
    return inserted_number(db.execute(insertion, values))

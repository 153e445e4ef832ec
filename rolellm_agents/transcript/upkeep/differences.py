"""What one transcript has that another has not."""

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from rolellm_agents.errors import StorageError
from rolellm_agents.transcript.upkeep.copies import reading


@dataclass(frozen=True, kw_only=True)
class Missing:
    """Counts of what a transcript lacks."""

    conversations: int
    messages: int


def missing_from(file: Path, other: Path) -> Missing | None:
    """What is in another transcript and not in a file; None if one of them cannot be read.

    Args:
        file: the transcript.
        other: the transcript that may have more.
    """
    try:
        here, there = _contents(file), _contents(other)
    except (StorageError, sqlite3.Error):
        return None
    return Missing(
        conversations=len(there.conversations - here.conversations),
        messages=len(there.messages - here.messages),
    )


@dataclass(frozen=True)
class _Contents:
    conversations: frozenset[object]
    messages: frozenset[object]


def _contents(file: Path) -> _Contents:
    with reading(file) as db:
        ids = (
            frozenset(id_ for (id_,) in db.execute(query))
            for query in ("SELECT id FROM conversation", "SELECT id FROM message")
        )
        return _Contents(*ids)

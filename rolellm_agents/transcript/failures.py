"""SQLite's errors as sentences with the next step."""

import contextlib
import sqlite3
from collections.abc import Iterator

from rolellm_agents.errors import StorageError

_DAMAGED = ("not a database", "malformed", "Could not decode", "no such table", "no such column")


@contextlib.contextmanager
def explained_failures(place: str) -> Iterator[None]:
    """Raise SQLite's errors as `StorageError` with the name of the file."""
    try:
        yield
    except sqlite3.Error as error:
        raise StorageError(_complaint(place, error)) from error


def damaged(place: str, reason: str) -> StorageError:
    """The error for a file with wrong contents."""
    return StorageError(
        f"{place} is not a transcript or is damaged ({reason}); “rolellm history check” shows what is "
        "wrong, and “rolellm history salvage” saves what can be read of it."
    )


def _complaint(place: str, error: sqlite3.Error) -> str:
    reason = str(error)
    if "full" in reason:
        return f"The disk is full, so {place} cannot be written; make room and try again."
    if "readonly" in reason or "read-only" in reason or "unable to open" in reason:
        return (
            f"{place} cannot be written ({reason}); give it and its folder write permission, "
            "or set ROLELLM_HOME to a folder you can write to."
        )
    if "locked" in reason:
        return f"{place} is locked by another program; close it and try again."
    if "disk I/O error" in reason:
        return (
            f"The disk reports an error for {place} ({reason}); check the disk and its free space, and try "
            "again: what was stored before is still there."
        )
    if any(sign in reason for sign in _DAMAGED):
        return str(damaged(place, reason))
    return f"{place} cannot be used: {reason}."

"""SQLite's errors as sentences with the next step."""

import sqlite3

from rolellm_agents.errors import StorageError

_DAMAGED = ("not a database", "malformed", "Could not decode", "no such table", "no such column")


def damaged(place: str, reason: str) -> StorageError:
    """The error for a file with wrong contents."""
    return StorageError(
        f"{place} is not a transcript or is damaged ({reason}); “rolellm history check” shows what is "
        "wrong, and “rolellm history salvage” saves what can be read of it."
    )


def complaint(place: str, error: sqlite3.Error) -> str:
    """What an error of SQLite's means for a file, and what to do."""
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

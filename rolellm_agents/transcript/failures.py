"""SQLite's errors as sentences with the next step."""

import shlex
import sqlite3
from pathlib import Path

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import StorageError

_DAMAGED = ("not a database", "malformed", "Could not decode", "no such table", "no such column")


def upkeep_command(name: str, place: str) -> str:
    """A command of `rolellm history` for a file; the user's own transcript needs no name."""
    is_own = Path(place) == user_paths().transcript
    return f"rolellm history {name}" if is_own else f"rolellm history {name} {shlex.quote(place)}"


def damaged(place: str, reason: str) -> StorageError:
    """The error for a file with wrong contents."""
    check, salvage = upkeep_command("check", place), upkeep_command("salvage", place)
    return StorageError(
        f"{place} is not a transcript or is damaged ({reason}); “{check}” shows what is wrong, and "
        f"“{salvage}” saves what can be read of it."
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

"""Checks of a transcript: SQLite's own, and that its messages form a tree."""

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rolellm_agents.errors import StorageError
from rolellm_agents.text import one_line
from rolellm_agents.transcript.database import FORMAT
from rolellm_agents.transcript.failures import damaged
from rolellm_agents.transcript.indexing import index_is_sound
from rolellm_agents.transcript.upkeep.copies import count_kept, reading

_MOST_FINDINGS: Final = 20
_LONGEST_REASON: Final = 80
_INVARIANTS: Final = (
    (
        "SELECT count(*) FROM message m LEFT JOIN message p ON p.number = m.parent "
        "WHERE m.parent IS NOT NULL AND p.number IS NULL",
        "messages that follow one that is not there",
    ),
    (
        "SELECT count(*) FROM message WHERE parent >= number",
        "messages that follow one that was written after them",
    ),
    (
        "SELECT count(*) FROM message m JOIN branch b ON b.number = m.branch "
        "JOIN message p ON p.number = m.parent JOIN branch q ON q.number = p.branch "
        "WHERE b.conversation <> q.conversation",
        "messages that follow one of another conversation",
    ),
    (
        "SELECT count(*) FROM message m LEFT JOIN branch b ON b.number = m.branch "
        "LEFT JOIN conversation c ON c.number = b.conversation WHERE c.number IS NULL",
        "messages that belong to no conversation",
    ),
    (
        "SELECT count(*) FROM message m LEFT JOIN manner ON manner.number = m.manner "
        "WHERE manner.number IS NULL",
        "messages without a speaker",
    ),
    (
        "SELECT count(*) FROM move LEFT JOIN message m ON m.number = move.head "
        "LEFT JOIN branch b ON b.number = move.branch LEFT JOIN branch q ON q.number = m.branch "
        "WHERE move.head IS NOT NULL AND (m.number IS NULL OR b.conversation IS NOT q.conversation)",
        "moves of a branch to a message that is not in its conversation",
    ),
    (
        "SELECT count(*) FROM piece LEFT JOIN message m ON m.number = piece.message "
        "WHERE m.number IS NULL OR m.status IS NOT NULL",
        "pieces that belong to no answer in progress",
    ),
    (
        "SELECT count(*) FROM kept_message m JOIN binned ON binned.message = m.parent",
        "messages that follow one in the bin, and are not there themselves",
    ),
    (
        "SELECT count(*) FROM removal JOIN branch b ON b.conversation = removal.conversation "
        "JOIN kept_message m ON m.branch = b.number WHERE removal.kind = 'conversation'",
        "messages of a deleted conversation that are not in the bin",
    ),
)
"""Queries that count faults, and what each fault is."""
_JSON: Final = (
    ("audiences", "SELECT audience FROM manner"),
    ("provenances", "SELECT made_by FROM message WHERE made_by IS NOT NULL"),
    ("token counts", "SELECT usage FROM message WHERE usage IS NOT NULL"),
    ("imported data", "SELECT extensions FROM conversation WHERE extensions IS NOT NULL"),
)


@dataclass(frozen=True, kw_only=True)
class CheckReport:
    """What a check found."""

    file: str
    format: int | None
    """The version of the file's format; None if it cannot be read."""
    conversations: int | None
    messages: int | None
    """None if they cannot be counted."""
    findings: tuple[str, ...]
    """What is wrong, one sentence each; empty for a sound file."""

    binned: int = 0
    """Messages in the bin, which `messages` does not count."""
    missing: int = 0
    """Messages that a salvage could not save: their numbers are missing. This is no fault of the file."""

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings


def check_transcript(file: Path) -> CheckReport:
    """Check a transcript, without changing it.

    Raises:
        StorageError: the file does not exist, cannot be read, is locked, or comes from a newer version.
    """
    if not file.is_file():
        raise StorageError(f"There is no transcript at {file}; name a file.")
    version: int | None = None
    missing = binned = 0
    counts: list[int | None] = [None, None]
    findings: list[str] = []
    try:
        with reading(file) as db:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version is not None and version > FORMAT:
                raise StorageError(
                    f"{file} was written by a newer rolellm (format {version}, this one knows {FORMAT}); "
                    "update rolellm."
                )
            findings += _findings(db, version or 0)
            counts = [_count(db, table) for table in ("conversation", "message")]
            missing, binned = _missing(db), _binned(db)
    except StorageError as error:
        if not isinstance(error.__cause__, sqlite3.DatabaseError) or _is_temporary(error.__cause__):
            raise
        findings.append(f"SQLite cannot read the file: {error.__cause__}.")
    return CheckReport(
        file=str(file),
        format=version,
        conversations=counts[0],
        messages=counts[1],
        findings=tuple(findings[:_MOST_FINDINGS]),
        binned=binned,
        missing=missing,
    )


def damage_of(file: Path | None) -> StorageError | None:
    """The damage that a fast check finds, also in pages that nobody has read since the file was opened.

    Returns:
        The error to show; None for a file that seems sound, is missing or locked, or for no file.
    """
    if file is None or not file.is_file():
        return None
    try:
        with reading(file) as db:
            (found,) = db.execute("PRAGMA quick_check(1)").fetchone()
    except StorageError as error:
        cause = error.__cause__
        is_damaged = isinstance(cause, sqlite3.DatabaseError) and not _is_temporary(cause)
        return error if is_damaged else None
    return None if found == "ok" else damaged(str(file), one_line(found, _LONGEST_REASON))


def _is_temporary(error: BaseException) -> bool:
    return any(sign in str(error) for sign in ("locked", "unable to open", "I/O error"))


def _findings(db: sqlite3.Connection, version: int) -> Iterator[str]:
    try:
        yield from _of_sqlite(db)
        if version != FORMAT:
            return  # an older format is converted when the file is opened
        if not index_is_sound(db):
            yield "The index of the search is damaged; “rolellm history salvage” writes a new one."
        for query, fault in _INVARIANTS:
            (count,) = db.execute(query).fetchone()
            if count:
                yield _sentence(fault, count)
        for what, query in _JSON:
            wrong = sum(not _is_json(text) for (text,) in db.execute(query))
            if wrong:
                yield _sentence(f"{what} that are not JSON", wrong)
    except sqlite3.DatabaseError as error:
        yield f"SQLite cannot read the file: {error}."


def _of_sqlite(db: sqlite3.Connection) -> Iterator[str]:
    # Texts that are not UTF-8 must not end the check.
    for (finding,) in db.execute(f"PRAGMA integrity_check({_MOST_FINDINGS})"):
        if finding != "ok":
            yield f"SQLite finds: {finding}."
    broken = db.execute("PRAGMA foreign_key_check").fetchall()
    if broken:
        yield _sentence("rows that refer to one that is not there", len(broken))


def _count(db: sqlite3.Connection, table: str) -> int | None:
    try:
        return count_kept(db, table)
    except sqlite3.DatabaseError:
        return None


def _missing(db: sqlite3.Connection) -> int:
    try:
        last, found = db.execute("SELECT coalesce(max(number), 0), count(*) FROM message").fetchone()
    except sqlite3.DatabaseError:
        return 0
    try:
        highest, emptied = db.execute(
            "SELECT coalesce(max(highest), 0), coalesce(sum(messages), 0) FROM emptied"
        ).fetchone()
    except sqlite3.DatabaseError:  # a former format
        highest = emptied = 0
    return max(0, max(int(last), int(highest)) - int(found) - int(emptied))


def _binned(db: sqlite3.Connection) -> int:
    try:
        count: int = db.execute("SELECT count(*) FROM binned").fetchone()[0]
    except sqlite3.DatabaseError:
        return 0
    return count


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _sentence(fault: str, count: int) -> str:
    return f"{fault[0].upper()}{fault[1:]}: {count}."

"""Copies of a transcript, made by SQLite while other processes write into it."""

import contextlib
import filecmp
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rolellm_agents.errors import StorageError
from rolellm_agents.transcript.database import explained_failures
from rolellm_agents.transcript.opening import connect_for_reading
from rolellm_agents.transcript.upkeep.files import NameTakenError, dated_file, new_file

_PAGES_AT_ONCE = 1000

Progress = Callable[[int, int], None]
"""Called with the number of finished pages and of all pages."""


@dataclass(frozen=True, kw_only=True)
class Backup:
    """A backup that was made."""

    file: str
    conversations: int
    messages: int
    bytes: int


def back_up(file: Path, out: Path | None = None, progress: Progress = lambda _done, _total: None) -> Backup:
    """Copy a transcript to one new file, in the state of this moment.

    Args:
        file: the transcript; other processes may write into it meanwhile.
        out: the new file; by default, a file in the folder `backups` beside the transcript, with the date
            in its name.
        progress: called with the number of pages that were copied, and of all.

    Raises:
        StorageError: there is no transcript, it is damaged, or the new file exists already or cannot be
            written.
    """
    if not file.exists():
        raise StorageError(f"There is no transcript at {file}; there is nothing to back up.")
    with (
        reading(file) as source,
        new_file(out or dated_file(file.parent / "backups" / file.name, "backup")) as (part, target),
    ):
        copy_database(source, part, progress)
        with explained_failures(str(file)):
            conversations, messages = (count_kept(source, table) for table in ("conversation", "message"))
    return Backup(
        file=str(target), conversations=conversations, messages=messages, bytes=target.stat().st_size
    )


def count_kept(db: sqlite3.Connection, table: str) -> int:
    """The rows of `conversation` or `message` that are not in the bin, which former formats do not have."""
    has_bin = db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (f"kept_{table}",)).fetchone()
    count: int = db.execute(
        f"SELECT count(*) FROM {'kept_' if has_bin else ''}{table}"  # noqa: S608 - our tables
    ).fetchone()[0]
    return count


def keep_before_migration(source: sqlite3.Connection, file: Path, version: int) -> Path:
    """Keep a copy of a file whose format is about to change, unless there is the same copy already.

    Raises:
        StorageError: the copy cannot be written.
    """
    what = f"format-{version}"
    while True:
        target = dated_file(file, what)
        try:
            with new_file(target) as (part, _):
                copy_database(source, part)
                for other in file.parent.glob(f"{file.stem}-{what}-*{file.suffix}"):
                    if filecmp.cmp(part, other, shallow=False):
                        raise _CopyExistsError(other)
        except _CopyExistsError as found:
            return found.file
        except NameTakenError:
            continue  # by another process that opens the file, too
        return target


class _CopyExistsError(Exception):
    def __init__(self, file: Path) -> None:
        super().__init__(str(file))
        self.file = file


@contextlib.contextmanager
def reading(file: Path) -> Iterator[sqlite3.Connection]:
    """A connection that only reads, on the state of this moment."""
    with explained_failures(str(file)), contextlib.closing(connect_for_reading(file)) as source:
        source.execute("BEGIN")
        source.execute("SELECT count(*) FROM sqlite_master").fetchone()
        yield source


def copy_database(
    source: sqlite3.Connection, target: Path, progress: Progress = lambda _done, _total: None
) -> None:
    """Copy a database into one file that needs no write-ahead log.

    Raises:
        StorageError: the source is damaged.
        sqlite3.Error: a file cannot be read or written.
    """
    with contextlib.closing(sqlite3.connect(target, isolation_level=None)) as copy:
        source.backup(
            copy,
            pages=_PAGES_AT_ONCE,
            progress=lambda _status, left, total: progress(total - left, total),
        )
        copy.execute("PRAGMA journal_mode = DELETE")
        findings = copy.execute("PRAGMA quick_check(1)").fetchall()
    if findings != [("ok",)]:
        raise sqlite3.DatabaseError("database disk image is malformed")

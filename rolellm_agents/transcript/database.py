"""The SQLite file of a transcript: opening, creation, migration and transactions."""

import contextlib
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rolellm_agents.config.paths import make_folder
from rolellm_agents.errors import StorageError
from rolellm_agents.transcript.message import KINDS, Kind
from rolellm_agents.transcript.migration import (
    admit_other_kinds,
    admits_only_our_kinds,
    create_tables,
    migrate_from_2,
)

_VERSION = 3
_PACKED_VERSION = 2
_UNRELEASED_VERSION = 1
_SECONDS_TO_WAIT_FOR_ANOTHER_WRITER = 10.0
_PAGE = 4096
"""Page size of a new file in bytes; with smaller pages, long messages waste more space."""


class Database:
    """One SQLite file in write-ahead mode; threads use it one at a time."""

    def __init__(self, path: Path | None = None) -> None:
        """Open or create the file; without a path the database is in memory.

        Raises:
            StorageError: the file cannot be opened, is not a transcript, or comes from a newer version.
        """
        self._place = str(path) if path else "the transcript in memory"
        self._lock = threading.RLock()
        if path:
            make_folder(path.parent)
        with self._explained_failures():
            self.connection = sqlite3.connect(
                path or ":memory:",
                timeout=_SECONDS_TO_WAIT_FOR_ANOTHER_WRITER,
                isolation_level=None,
                check_same_thread=False,
            )
            try:
                self._prepare()
            except BaseException:
                self.connection.close()
                raise

    def close(self) -> None:
        """Close the file; further calls do nothing."""
        with self._lock:
            self.connection.close()

    def _prepare(self) -> None:
        self.connection.row_factory = sqlite3.Row
        version = self._version()
        if version > _VERSION:
            raise StorageError(
                f"{self._place} was written by a newer rolellm (format {version}, this one knows "
                f"{_VERSION}); update rolellm."
            )
        if version == _UNRELEASED_VERSION:
            raise StorageError(
                f"{self._place} has format 1, which no release wrote; move it away, "
                "and the next start makes a new one."
            )
        self.connection.execute(f"PRAGMA page_size = {_PAGE}")
        self._switch_to_wal()
        if version < _VERSION:
            self._bring_to_this_version()
        self.connection.execute("PRAGMA foreign_keys = ON")

    def _version(self) -> int:
        version: int = self.connection.execute("PRAGMA user_version").fetchone()[0]
        return version

    def _switch_to_wal(self) -> None:
        """Set the journal mode, and retry while another process does the same; SQLite does not wait."""
        deadline = time.monotonic() + _SECONDS_TO_WAIT_FOR_ANOTHER_WRITER
        while True:
            try:
                self.connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            else:
                return

    def _bring_to_this_version(self) -> None:
        with self.writing() as db:
            # Another process may have migrated the file meanwhile.
            version = self._version()
            if version == 0:
                create_tables(db)
            elif version == _PACKED_VERSION:
                self._migrate(db)
            db.execute(f"PRAGMA user_version = {_VERSION}")
        if version == _PACKED_VERSION:
            # Return the old tables' space to the disk; if this fails, new messages will use the space.
            with contextlib.suppress(sqlite3.Error):
                self.connection.execute("VACUUM")

    def _migrate(self, db: sqlite3.Connection) -> None:
        try:
            migrate_from_2(db)
        except (KeyError, TypeError, ValueError) as error:
            raise StorageError(
                f"{self._place} is damaged ({error}); move it away, and the next start makes a new one."
            ) from error

    def admit_kinds(self, kinds: Iterable[Kind]) -> None:
        """Make the file ready for messages of these kinds; it admits only ours until others are needed.

        Raises:
            StorageError: the file cannot be written.
        """
        if set(kinds) <= set(KINDS):
            return
        with self._explained_failures(), self._lock:
            self.connection.execute("PRAGMA foreign_keys = OFF")
            try:
                with self.writing() as db:
                    if admits_only_our_kinds(db):
                        admit_other_kinds(db)
            finally:
                self.connection.execute("PRAGMA foreign_keys = ON")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The connection, for one query."""
        with self._explained_failures(), self._lock:
            yield self.connection

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """The connection, for several queries on a consistent snapshot of the file."""
        with self.reading() as db:
            db.execute("BEGIN")
            try:
                yield db
            finally:
                db.execute("ROLLBACK")

    @contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """One transaction; a durable one flushes itself and all earlier transactions to the disk."""
        with self._explained_failures(), self._lock:
            self.connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _explained_failures(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StorageError(_complaint(self._place, error)) from error


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
    if "not a database" in reason or "malformed" in reason:
        return (
            f"{place} is not a transcript or is damaged ({reason}); move it away, "
            "and the next start makes a new one."
        )
    return f"{place} cannot be used: {reason}."

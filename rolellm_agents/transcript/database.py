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
from rolellm_agents.transcript.failures import complaint, damaged
from rolellm_agents.transcript.message import KINDS, Kind
from rolellm_agents.transcript.migration import (
    admit_other_kinds,
    admits_only_our_kinds,
    create_tables,
    migrate_from_2,
    migrate_from_3,
    stand_in_for_bin,
)
from rolellm_agents.transcript.opening import (
    SECONDS_TO_WAIT_FOR_ANOTHER_WRITER,
    can_write,
    connect_for_reading,
    connect_for_writing,
)
from rolellm_agents.transcript.presence import Presence

FORMAT = 4
"""The version of the file's format."""
_PACKED_VERSION = 2
_VERSION_WITHOUT_BIN = 3
_FORMER_VERSIONS = (_PACKED_VERSION, _VERSION_WITHOUT_BIN)
_UNRELEASED_VERSION = 1
_PAGE = 4096
"""Page size of a new file in bytes; with smaller pages, long messages waste more space."""


@contextmanager
def explained_failures(place: str) -> Iterator[None]:
    """Raise SQLite's errors as `StorageError` with the name of the file."""
    try:
        yield
    except sqlite3.Error as error:
        raise StorageError(complaint(place, error)) from error


class Database:
    """One SQLite file in write-ahead mode; threads use it one at a time."""

    def __init__(self, path: Path | None = None) -> None:
        """Open or create the file; without a path the database is in memory.

        Raises:
            StorageError: the file cannot be opened, is not a transcript, or comes from a newer version.
        """
        self.path = path
        """The file; None in memory."""
        self._place = str(path) if path else "the transcript in memory"
        self._lock = threading.RLock()
        self._presence: Presence | None = None
        self.notice = ""
        """Where the copy in the former format is, if the file was converted; else empty."""
        if path:
            make_folder(path.parent)
            self._presence = Presence(path)
        try:
            with explained_failures(self._place):
                self.connection = self._connect()
                self._prepare()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file; further calls do nothing."""
        with self._lock:
            if hasattr(self, "connection"):
                self.connection.close()
            if self._presence is not None:
                self._presence.close()

    def _connect(self) -> sqlite3.Connection:
        return connect_for_writing(self.path)

    def _prepare(self) -> None:
        self.connection.row_factory = sqlite3.Row
        version = self._known_version()
        self.connection.execute(f"PRAGMA page_size = {_PAGE}")
        self._switch_to_wal()
        if version < FORMAT:
            self._bring_to_this_version()
        self.connection.execute("PRAGMA foreign_keys = ON")

    def _known_version(self) -> int:
        version = self._version()
        if version > FORMAT:
            raise StorageError(
                f"{self._place} was written by a newer rolellm (format {version}, this one knows "
                f"{FORMAT}); update rolellm."
            )
        if version == _UNRELEASED_VERSION:
            raise StorageError(
                f"{self._place} has format 1, which no release wrote; move it away, "
                "and the next start makes a new one."
            )
        return version

    def _version(self) -> int:
        version: int = self.connection.execute("PRAGMA user_version").fetchone()[0]
        return version

    def _switch_to_wal(self) -> None:
        """Set the journal mode, and retry while another process does the same; SQLite does not wait."""
        deadline = time.monotonic() + SECONDS_TO_WAIT_FOR_ANOTHER_WRITER
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
        self._keep_former_format()
        with self.writing() as db:
            # Another process may have migrated the file meanwhile.
            version = self._version()
            if version == 0:
                create_tables(db)
            elif version == _PACKED_VERSION:
                self._migrate(db)
            elif version == _VERSION_WITHOUT_BIN:
                migrate_from_3(db)
            db.execute(f"PRAGMA user_version = {FORMAT}")
        if version == _PACKED_VERSION:
            # Return the old tables' space to the disk; if this fails, new messages will use the space.
            with contextlib.suppress(sqlite3.Error):
                self.connection.execute("VACUUM")

    def _keep_former_format(self) -> None:
        if self.path is None:
            return
        with self.snapshot() as db:
            version = self._version()
            if version in _FORMER_VERSIONS:
                # Copies need the errors of this module.
                from rolellm_agents.transcript.upkeep.copies import keep_before_migration

                kept = keep_before_migration(db, self.path, version)
                self.notice = (
                    f"{self.path} is converted to format {FORMAT}; a copy in format {version} is "
                    f"kept in {kept}."
                )

    def _migrate(self, db: sqlite3.Connection) -> None:
        try:
            migrate_from_2(db)
        except (KeyError, TypeError, ValueError) as error:
            raise damaged(self._place, str(error)) from error

    def admit_kinds(self, kinds: Iterable[Kind]) -> None:
        """Make the file ready for messages of these kinds; it admits only ours until others are needed.

        Raises:
            StorageError: the file cannot be written.
        """
        if set(kinds) <= set(KINDS):
            return
        with explained_failures(self._place), self._lock:
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
        with explained_failures(self._place), self._lock:
            try:
                yield self.connection
            except (ValueError, IndexError) as error:
                # Texts that are no JSON, no UTF-8 or no known status.
                raise damaged(self._place, str(error)) from error

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
        with explained_failures(self._place), self._lock:
            self.connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise


class ReadOnlyDatabase(Database):
    """An existing file in a folder without write permission."""

    def _connect(self) -> sqlite3.Connection:
        if self.path is None:
            raise sqlite3.OperationalError("unable to open database file")
        return connect_for_reading(self.path)

    def _prepare(self) -> None:
        self.connection.row_factory = sqlite3.Row
        version = self._known_version()
        if version == _VERSION_WITHOUT_BIN:
            stand_in_for_bin(self.connection)
        self.connection.execute("PRAGMA query_only = ON")
        if version < _VERSION_WITHOUT_BIN:
            raise StorageError(
                f"{self._place} has format {version}, and must be converted to format {FORMAT} before it "
                "is read; copy it to a folder that you can write to, and set ROLELLM_HOME to that folder."
            )


def open_for_reading(path: Path) -> Database:
    """Open a file whose folder perhaps cannot be written; there, a missing file is an empty transcript.

    Raises:
        StorageError: as for `Database`.
    """
    if can_write(path):
        return Database(path)
    return ReadOnlyDatabase(path) if path.exists() else Database()

"""Connections to a transcript's file: for writing, and for reading without write permission."""

import contextlib
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import Final

from rolellm_agents.config.paths import close_to_others

SECONDS_TO_WAIT_FOR_ANOTHER_WRITER: Final = 10.0
_PRIVATE: Final = 0o600


def connect_for_writing(file: Path | None) -> sqlite3.Connection:
    """Open or create a file that only its owner can read; without a file, the database is in memory."""
    if file is not None:
        _make_private(file)
    return sqlite3.connect(
        file or ":memory:",
        timeout=SECONDS_TO_WAIT_FOR_ANOTHER_WRITER,
        isolation_level=None,
        check_same_thread=False,
    )


def _make_private(file: Path) -> None:
    """SQLite gives the files beside a database the same permissions.

    An existing file is not opened: closing it would release the locks that SQLite holds in this process.
    """
    with contextlib.suppress(OSError):  # it exists, or SQLite reports the error
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, _PRIVATE))
    for one in (file, file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-shm")):
        if one.is_file():
            close_to_others(one)


def can_write(file: Path) -> bool:
    """Whether the file, or if it does not exist a file in its folder, can be written."""
    place = file.parent
    while not place.exists() and place != place.parent:
        place = place.parent
    return os.access(place, os.W_OK) and (not file.exists() or os.access(file, os.W_OK))


def connect_for_reading(file: Path) -> sqlite3.Connection:
    """Open an existing file; nothing is written if its folder does not permit it.

    Raises:
        sqlite3.Error: the file does not exist, or cannot be read.
    """
    log = file.with_name(f"{file.name}-wal")
    if can_write(file):
        return _connect(file, "mode=ro")
    if not log.exists() or not log.stat().st_size:
        # Without permission, SQLite cannot create the files beside it, and nobody else writes.
        return _connect(file, "mode=ro&immutable=1")
    try:
        connection = _connect(file, "mode=ro")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        return _connect_to_copy(file, log)
    return connection


def _connect(file: Path, how: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{file.absolute().as_uri()}?{how}",
        uri=True,
        timeout=SECONDS_TO_WAIT_FOR_ANOTHER_WRITER,
        isolation_level=None,
        check_same_thread=False,
    )


def _connect_to_copy(file: Path, log: Path) -> sqlite3.Connection:
    """The database and its log, in memory: to read them in place, SQLite would make a third file."""
    with tempfile.TemporaryDirectory(prefix="rolellm-") as folder:
        copy = Path(folder) / file.name
        shutil.copyfile(file, copy)
        shutil.copyfile(log, Path(folder) / log.name)
        memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        with contextlib.closing(sqlite3.connect(copy)) as source:
            source.backup(memory)
    return memory

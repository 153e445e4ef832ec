"""The index of the search: adding messages, writing the index anew, and checking it."""

import contextlib
import sqlite3
from collections.abc import Iterable
from typing import Final

from rolellm_agents.transcript.database import Database
from rolellm_agents.transcript.search_words import index_of

_MESSAGES_AT_ONCE: Final = 500
_TABLES_OF_THE_INDEX: Final = ("word_data", "word_idx", "word_config")


def index_anew(database: Database) -> None:
    """Write the index of all messages anew, without a trace of the words of deleted ones.

    The words are prepared before the transaction, because other writers wait for it.

    Messages are not removed from the index one by one. FTS5 would need their words exactly as they were
    added, but newer Unicode tables can split a text differently. And the index can get a level more with
    each `merge` or `optimize`, until SQLite calls the file malformed at 2,000 levels.

    Raises:
        StorageError: the file cannot be written.
    """
    # SQLite keeps this database in memory, and a large one in a temporary file.
    with contextlib.closing(sqlite3.connect("", isolation_level=None, check_same_thread=False)) as prepared:
        prepared.execute("CREATE TABLE prepared (message INTEGER PRIMARY KEY, words TEXT NOT NULL)")
        last = 0
        while rows := _some_texts(database, last):
            _prepare(prepared, rows)
            last = rows[-1][0]
        with database.writing() as db:
            ended = {
                number for (number,) in db.execute("SELECT number FROM message WHERE status IS NOT NULL")
            }
            known = {number for (number,) in prepared.execute("SELECT message FROM prepared")}
            for number in ended - known:
                _prepare(
                    prepared, db.execute("SELECT number, text FROM message WHERE number = ?", (number,))
                )
            db.execute("INSERT INTO word (word) VALUES ('delete-all')")
            db.executemany(
                "INSERT INTO word (rowid, words) VALUES (?, ?)",
                (
                    row
                    for row in prepared.execute("SELECT * FROM prepared ORDER BY message")
                    if row[0] in ended
                ),
            )


def index_is_sound(db: sqlite3.Connection) -> bool:
    """Whether FTS5 finds the index sound; SQLite's check of a file includes it only since version 3.44.

    FTS5's check is written as an insertion, so it runs on a copy in memory, and needs no right to write.

    Raises:
        sqlite3.Error: the tables of the index cannot be read.
    """
    (definition,) = db.execute("SELECT sql FROM sqlite_master WHERE name = 'word'").fetchone()
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
        copy.execute(definition)
        for table in _TABLES_OF_THE_INDEX:
            copy.execute(f"DELETE FROM {table}")  # noqa: S608 - ours
            rows = db.execute(f"SELECT * FROM {table}")  # noqa: S608 - ours
            places = ", ".join("?" * len(rows.description))
            copy.executemany(f"INSERT INTO {table} VALUES ({places})", map(tuple, rows))  # noqa: S608 - ours
        try:
            copy.execute("INSERT INTO word (word) VALUES ('integrity-check')")
        except sqlite3.DatabaseError:
            return False
    return True


def _some_texts(database: Database, last: int) -> list[tuple[int, str]]:
    """The numbers and texts of some messages that have ended, after the one with a number."""
    with database.reading() as db:
        return [
            (number, text)
            for number, text in db.execute(
                "SELECT number, text FROM message WHERE number > ? AND status IS NOT NULL "
                "ORDER BY number LIMIT ?",
                (last, _MESSAGES_AT_ONCE),
            )
        ]


def _prepare(prepared: sqlite3.Connection, texts: Iterable[tuple[int, str]]) -> None:
    prepared.execute("BEGIN")
    prepared.executemany(
        "INSERT INTO prepared VALUES (?, ?)", ((number, index_of(text)) for number, text in texts)
    )
    prepared.execute("COMMIT")

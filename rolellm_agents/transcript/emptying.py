"""Emptying the bin: rows are deleted in short transactions, and then their text is wiped from the file.

A deletion is first marked as `emptying`; from then on it is not listed and cannot be taken back, and
everything of it stays hidden. A process that is killed therefore never leaves half a conversation: the
next one goes on.
"""

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

from rolellm_agents.errors import MessageError, StorageError
from rolellm_agents.transcript.bin import find_in_bin, oldest_in_bin
from rolellm_agents.transcript.branches import insert_move, read_positions
from rolellm_agents.transcript.database import Database
from rolellm_agents.transcript.indexing import index_anew
from rolellm_agents.transcript.times import now

_MESSAGES_AT_ONCE: Final = 50

Progress = Callable[[int, int], None]
"""Called with the number of deleted messages, and of all."""
Wiped = Literal["begun", "file", "log"]

_RESTING_ON: Final = """
UPDATE removal SET emptying = 1
WHERE NOT emptying AND (
    conversation IN (SELECT conversation FROM removal WHERE emptying AND kind = 'conversation')
    OR EXISTS (SELECT 1 FROM message root JOIN binned ON binned.message = root.parent
               JOIN removal below ON below.number = binned.removal
               WHERE root.number = removal.root AND below.emptying))
"""
"""What rests on something that is deleted forever goes with it."""


def work_left(db: sqlite3.Connection) -> bool:
    """Whether something in the bin is over its time, or a deletion is not completed."""
    left: int = db.execute(
        """
        SELECT EXISTS (SELECT 1 FROM removal WHERE emptying OR deleted <= ?)
            OR EXISTS (SELECT 1 FROM emptied WHERE wiped <> 'log')
        """,
        (oldest_in_bin(now()),),
    ).fetchone()[0]
    return bool(left)


def mark_old(db: sqlite3.Connection) -> None:
    """Mark what is in the bin for more than its time."""
    _mark(db, "deleted <= ?", oldest_in_bin(now()))


def mark_all(db: sqlite3.Connection) -> None:
    """Mark everything in the bin."""
    _mark(db, "?", 1)


def mark_one(db: sqlite3.Connection, reference: str) -> None:
    """Mark one deletion, and those that rest on it.

    Raises:
        MessageError: no deletion matches, or several do.
    """
    _mark(db, "id = ?", find_in_bin(db, reference).id)


def empty_marked(
    database: Database, progress: Progress = lambda _done, _total: None, stopped: Callable[[], bool] = bool
) -> bool:
    """Delete what is marked, and wipe its text from the file and its log.

    Other processes may write meanwhile: no transaction is long, except those of the last steps, which write
    the index and then the file anew.

    Returns:
        Whether everything is wiped; not if another process reads the log, or if `stopped` tells to stop.

    Raises:
        StorageError: the file cannot be written.
    """
    database.connection.execute("PRAGMA secure_delete = ON")
    with database.reading() as db:
        total = db.execute(
            "SELECT count(*) FROM removal JOIN binned ON binned.removal = removal.number WHERE emptying"
        ).fetchone()[0]
    done = 0
    steps = (_delete_messages, _delete_removal)
    started = time.monotonic()
    while any(step(database) for step in steps):
        if stopped():
            return False
        done = min(total, done + _MESSAGES_AT_ONCE)
        progress(done, total)
        # As long as the transaction took: SQLite has no queue, and others would rarely find it free.
        time.sleep(time.monotonic() - started)
        started = time.monotonic()
    return _wipe(database)


class BackgroundEmptying:
    """Empties what is over its time in a thread, until it is closed."""

    def __init__(self, file: Path) -> None:
        """Start the thread for a transcript's file."""
        self._file = file
        self._database: Database | None = None
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work, name="rolellm-bin", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the thread; the next opening goes on. Further calls do nothing."""
        self._stopped.set()
        while self._thread.is_alive():
            with self._lock:
                if self._database is not None:
                    self._database.connection.interrupt()
            self._thread.join(0.05)

    def wait(self) -> None:
        """Wait until the thread has ended by itself."""
        self._thread.join()

    def _work(self) -> None:
        # The next opening tries again.
        with contextlib.suppress(StorageError, MessageError, sqlite3.Error):
            database = Database(self._file)
            try:
                with self._lock:
                    self._database = database
                if not self._stopped.is_set():
                    with database.writing() as db:
                        mark_old(db)
                    empty_marked(database, stopped=self._stopped.is_set)
            finally:
                with self._lock:
                    self._database = None
                database.close()


def _mark(db: sqlite3.Connection, condition: str, value: object) -> None:
    """Mark deletions, and let the branches that they have shortened end where they seem to end."""
    before = db.execute("SELECT count(*) FROM removal WHERE emptying").fetchone()[0]
    db.execute(f"UPDATE removal SET emptying = 1 WHERE NOT emptying AND {condition}", (value,))  # noqa: S608
    while db.execute(_RESTING_ON).rowcount:
        pass
    if before == db.execute("SELECT count(*) FROM removal WHERE emptying").fetchone()[0]:
        return
    for (conversation,) in db.execute(
        """
        SELECT DISTINCT conversation.id FROM removal
        JOIN kept_conversation conversation ON conversation.number = removal.conversation
        WHERE removal.emptying
        """
    ).fetchall():
        _settle_branches(db, conversation)


def _settle_branches(db: sqlite3.Connection, conversation: str) -> None:
    positions = sorted(read_positions(db, conversation), key=lambda position: position.since)
    for (deleted,) in db.execute(
        """
        SELECT removal.branch FROM removal JOIN conversation ON conversation.number = removal.conversation
        WHERE removal.emptying AND removal.branch IS NOT NULL AND conversation.id = ?
        """,
        (conversation,),
    ).fetchall():
        heir = min(position.branch for position in positions)
        db.execute("UPDATE message SET branch = ? WHERE branch = ?", (heir, deleted))
    # In their order, so that the conversation goes on where it would have.
    for position in positions:
        insert_move(db, position.branch, position.head)


def _delete_messages(database: Database) -> bool:
    """Delete some messages, children before their parents; False if there are none."""
    with database.writing(durable=False) as db:
        rows = db.execute(
            """
            SELECT message FROM binned
            WHERE removal = (SELECT number FROM removal WHERE emptying
                             AND EXISTS (SELECT 1 FROM binned WHERE binned.removal = removal.number)
                             ORDER BY number LIMIT 1)
            ORDER BY message DESC LIMIT ?
            """,
            (_MESSAGES_AT_ONCE,),
        ).fetchall()
        if not rows:
            return False
        (highest,) = db.execute(
            "SELECT max((SELECT max(number) FROM message), (SELECT coalesce(max(highest), 0) FROM emptied))"
        ).fetchone()
        for (number,) in rows:
            db.execute("DELETE FROM piece WHERE message = ?", (number,))
            db.execute("DELETE FROM summary WHERE message = ?", (number,))
            # A branch that is in the bin itself ends where its messages end.
            db.execute(
                "UPDATE move SET head = (SELECT parent FROM message WHERE number = ?1) WHERE head = ?1",
                (number,),
            )
            db.execute("UPDATE removal SET root = NULL WHERE root = ?", (number,))
            db.execute("DELETE FROM message WHERE number = ?", (number,))
            db.execute("DELETE FROM binned WHERE message = ?", (number,))
        _note_emptied(db, len(rows), highest)
    return True


def _note_emptied(db: sqlite3.Connection, messages: int, highest: int) -> None:
    """Count what was deleted, in one row for everything that is not wiped yet."""
    noted = db.execute(
        "UPDATE emptied SET messages = messages + ?, highest = max(highest, ?) WHERE wiped = 'no'",
        (messages, highest),
    )
    if not noted.rowcount:
        db.execute(
            "INSERT INTO emptied (messages, highest, wiped) VALUES (?, ?, 'no')", (messages, highest)
        )


def _delete_removal(database: Database) -> bool:
    """Delete one deletion whose messages are deleted, with what belongs to it; False if there is none."""
    with database.writing(durable=False) as db:
        removal = db.execute("SELECT * FROM removal WHERE emptying ORDER BY number LIMIT 1").fetchone()
        if removal is None:
            return False
        conversation = removal["conversation"]
        if removal["kind"] == "conversation":
            # Nothing else of it is in the bin by now, except in a later row, which has no messages left.
            db.execute("UPDATE removal SET branch = NULL WHERE conversation = ?", (conversation,))
            db.execute(
                "DELETE FROM move WHERE branch IN (SELECT number FROM branch WHERE conversation = ?)",
                (conversation,),
            )
            db.execute("UPDATE removal SET conversation = NULL WHERE conversation = ?", (conversation,))
            db.execute(
                "DELETE FROM draft WHERE key = (SELECT id FROM conversation WHERE number = ?)",
                (conversation,),
            )
            for table in ("title", "archiving", "note", "branch"):
                db.execute(f"DELETE FROM {table} WHERE conversation = ?", (conversation,))  # noqa: S608 - ours
            db.execute("DELETE FROM conversation WHERE number = ?", (conversation,))
        elif removal["branch"] is not None:
            db.execute("UPDATE removal SET branch = NULL WHERE number = ?", (removal["number"],))
            db.execute("DELETE FROM move WHERE branch = ?", (removal["branch"],))
            db.execute("DELETE FROM branch WHERE number = ?", (removal["branch"],))
        db.execute("DELETE FROM removal WHERE number = ?", (removal["number"],))
        if removal["kind"] in ("message", "branch"):
            _erase_what_was_left_without_messages(db, conversation, removal["deleted"])
        (highest,) = db.execute("SELECT coalesce(max(number), 0) FROM message").fetchone()
        _note_emptied(db, 0, highest)
    return True


def _erase_what_was_left_without_messages(db: sqlite3.Connection, conversation: int, deleted: int) -> None:
    """Delete the texts of a conversation that has lost its last message, which no list shows any more.

    The conversation itself stays, because a window can go on with it, and so does what was written in it
    after the deletion.
    """
    if db.execute(
        "SELECT 1 FROM branch JOIN message ON message.branch = branch.number WHERE branch.conversation = ?",
        (conversation,),
    ).fetchone():
        return
    db.execute(
        "DELETE FROM draft WHERE key = (SELECT id FROM conversation WHERE number = ?) AND kept <= ?",
        (conversation, deleted),
    )
    db.execute("DELETE FROM title WHERE conversation = ? AND given <= ?", (conversation, deleted))
    db.execute("DELETE FROM note WHERE conversation = ? AND written <= ?", (conversation, deleted))
    db.execute("UPDATE conversation SET extensions = NULL WHERE number = ?", (conversation,))


def _wipe(database: Database) -> bool:
    """Write the file anew, and shorten the log to nothing: both still have the deleted text."""
    if (last := _begin_wiping(database)) is not None:
        index_anew(database)
        with database.writing() as db:
            db.execute("DELETE FROM manner WHERE number NOT IN (SELECT manner FROM message)")
        with database.reading() as db:
            db.execute("VACUUM")
        _note_wiped(database, last, "begun", "file")
    with database.reading() as db:
        (last,) = db.execute("SELECT max(number) FROM emptied WHERE wiped = 'file'").fetchone()
    if last is not None:
        with database.reading() as db:
            (busy, *_) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            return False
        _note_wiped(database, last, "file", "log")
    return True


def _begin_wiping(database: Database) -> int | None:
    """The last row of `emptied` whose text will be wiped; None if there is none.

    What another process deletes from now on gets a row of its own, and is wiped later.
    """
    with database.writing() as db:
        db.execute("UPDATE emptied SET wiped = 'begun' WHERE wiped = 'no'")
        last: int | None = db.execute("SELECT max(number) FROM emptied WHERE wiped = 'begun'").fetchone()[0]
    return last


def _note_wiped(database: Database, last: int, before: Wiped, after: Wiped) -> None:
    with database.writing() as db:
        db.execute("UPDATE emptied SET wiped = ? WHERE wiped = ? AND number <= ?", (after, before, last))

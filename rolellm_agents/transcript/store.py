"""`Transcript`: read and append; nothing is ever overwritten.

Any number of processes may hold the same file: SQLite's write-ahead log lets them read while one
writes. Within a process the threads take turns. Whatever was written survives the end of the process,
however it ends; a power cut may take what came after the last finished answer, since only the end of an
answer waits for the disk.
"""

import json
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from rolellm_agents.errors import MessageError, StorageError
from rolellm_agents.paths import make_folder
from rolellm_agents.text import one_line, whole
from rolellm_agents.transcript.message import ConversationSummary, Kind, Message, Status

MAIN = "main"
"""The branch every conversation begins with."""

_VERSION = 1
_SECONDS_TO_WAIT_FOR_ANOTHER_WRITER = 10.0
_SUMMARY_WIDTH = 80

_PIECES = """
SELECT group_concat(text, '')
FROM (SELECT text FROM piece WHERE piece.message = m.number ORDER BY piece.number)
"""

_MESSAGES = f"""
SELECT m.id, m.conversation, parent.id AS parent, m.speaker, m.audience, m.kind, m.made_by,
       body.made_by AS made_by_at_end, m.created, body.status, body.usage,
       coalesce(body.text, ({_PIECES}), '') AS text
FROM message m
LEFT JOIN message parent ON parent.number = m.parent
LEFT JOIN body ON body.message = m.number
"""  # noqa: S608 - no value is put into the text


class Transcript:
    """All conversations of one data folder."""

    def __init__(self, path: Path | None = None) -> None:
        """Open the file, or make it; without a path everything stays in memory.

        Raises:
            StorageError: it cannot be opened, is no transcript, or comes from a newer version.
        """
        self._place = str(path) if path else "the transcript in memory"
        self._lock = threading.RLock()
        if path:
            make_folder(path.parent)
        with self._failures_told():
            self._db = sqlite3.connect(
                path or ":memory:",
                timeout=_SECONDS_TO_WAIT_FOR_ANOTHER_WRITER,
                isolation_level=None,
                check_same_thread=False,
            )
            try:
                self._prepare()
            except BaseException:
                self._db.close()
                raise

    def close(self) -> None:
        """Close the file; safe to call twice."""
        with self._lock:
            self._db.close()

    def __enter__(self) -> "Transcript":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Conversations

    def create_conversation(self, persona: str) -> str:
        """Begin a conversation with a persona; returns its id."""
        conversation = secrets.token_hex(4)
        with self._writing(durable=False) as db:
            db.execute(
                "INSERT INTO conversation (id, persona, created) VALUES (?, ?, ?)",
                (conversation, persona, _now()),
            )
            self._move(conversation, MAIN, None)
        return conversation

    def conversations(self, persona: str | None = None) -> list[ConversationSummary]:
        """All conversations in which something was said, the latest first."""
        rows = self._rows(
            f"""
            SELECT c.id, c.persona, c.created, m.created AS updated, tally.messages,
                   coalesce(body.text, ({_PIECES}), '') AS last
            FROM conversation c
            JOIN (SELECT conversation, count(*) AS messages, max(number) AS newest
                  FROM message GROUP BY conversation) tally ON tally.conversation = c.id
            JOIN message m ON m.number = tally.newest
            LEFT JOIN body ON body.message = m.number
            {"WHERE c.persona = :persona" if persona else ""}
            ORDER BY tally.newest DESC
            """,  # noqa: S608 - no value is put into the text
            {"persona": persona},
        )
        return [
            ConversationSummary(**{**row, "last": one_line(row["last"], _SUMMARY_WIDTH)}) for row in rows
        ]

    def find_conversation(self, reference: str) -> ConversationSummary:
        """A conversation by its id, or by the beginning of it that no other shares.

        Raises:
            MessageError: there is none, or there are several.
        """
        found = [one for one in self.conversations() if one.id.startswith(reference)]
        if len(found) == 1 and reference:
            return found[0]
        what = f"{len(found)} conversations begin with" if found else "There is no conversation"
        raise MessageError(f"{what} {reference!r}; “rolellm history list” shows all.")

    # Messages

    def append(
        self,
        conversation: str,
        parent: str | None,
        *,
        speaker: str,
        audience: Sequence[str],
        text: str,
        kind: Kind = "say",
        made_by: Mapping[str, Any] | None = None,
        branch: str = MAIN,
    ) -> Message:
        """Add a finished message under `parent` and let the branch point to it."""
        with self._writing(durable=False):
            message = self._insert(conversation, parent, speaker, audience, kind, made_by or {})
            self._end(message, text, "complete", None, {})
            self._move(conversation, branch, message)
        return self.message(message)

    def begin(
        self,
        conversation: str,
        parent: str | None,
        *,
        speaker: str,
        audience: Sequence[str],
        kind: Kind = "say",
        made_by: Mapping[str, Any] | None = None,
        branch: str = MAIN,
    ) -> str:
        """Add a message whose words are still to come, and let the branch point to it.

        Returns:
            Its id, for `add_piece` and `end`. If neither ever comes, it counts as cut off.
        """
        with self._writing(durable=False):
            message = self._insert(conversation, parent, speaker, audience, kind, made_by or {})
            self._move(conversation, branch, message)
        return message

    def add_piece(self, message: str, text: str) -> None:
        """Add words to a message that has begun.

        Raises:
            MessageError: there is no such message, or it has ended.
        """
        with self._writing(durable=False) as db:
            added = db.execute(
                """
                INSERT INTO piece (message, number, text)
                SELECT m.number, (SELECT coalesce(max(number), 0) + 1 FROM piece
                                  WHERE piece.message = m.number), :text
                FROM message m WHERE m.id = :id
                    AND NOT EXISTS (SELECT 1 FROM body WHERE body.message = m.number)
                """,
                {"text": whole(text), "id": message},
            )
            if added.rowcount != 1:
                raise MessageError(f"The message {message!r} is not being written.")

    def end(
        self,
        message: str,
        text: str,
        status: Literal["complete", "stopped", "failed"],
        usage: Mapping[str, Any] | None = None,
        made_by: Mapping[str, Any] | None = None,
    ) -> Message:
        """Give a message that has begun its final words; its pieces are no longer needed.

        This, and with it all that was written before, is on the disk when it returns.

        Args:
            message: its id.
            text: all its words.
            status: how it ended.
            usage: token counts as the model told them.
            made_by: what is known of its making only now; added to what `begin` was told.
        """
        with self._writing() as db:
            self._end(message, text, status, usage, made_by or {})
            db.execute(
                "DELETE FROM piece WHERE message = (SELECT number FROM message WHERE id = ?)",
                (message,),
            )
        return self.message(message)

    def message(self, message: str) -> Message:
        """One message.

        Raises:
            MessageError: there is none with this id.
        """
        for row in self._rows(f"{_MESSAGES} WHERE m.id = :id", {"id": message}):
            return _as_message(row)
        raise MessageError(f"There is no message {message!r}.")

    def siblings(self, message: str) -> list[Message]:
        """A message and its swipes, oldest first: all that follow the same parent."""
        rows = self._rows(
            f"""
            {_MESSAGES} WHERE m.number IN (
                SELECT other.number FROM message other
                JOIN message one ON one.conversation = other.conversation
                    AND other.parent IS one.parent
                WHERE one.id = :id)
            ORDER BY m.number
            """,  # noqa: S608 - no value is put into the text
            {"id": message},
        )
        return [_as_message(row) for row in rows]

    def children(self, message: str) -> list[Message]:
        """What follows a message directly, oldest first: one for each swipe or branch."""
        rows = self._rows(
            f"{_MESSAGES} WHERE parent.id = :id ORDER BY m.number",
            {"id": message},
        )
        return [_as_message(row) for row in rows]

    def path(self, conversation: str, branch: str = MAIN) -> list[Message]:
        """The messages from the first to the one the branch points to."""
        rows = self._rows(
            f"""
            WITH RECURSIVE path (number, parent, depth) AS (
                SELECT number, parent, 0 FROM message WHERE number = (
                    SELECT head FROM branch WHERE conversation = :conversation AND name = :branch
                    ORDER BY branch.number DESC LIMIT 1)
                UNION ALL
                SELECT m.number, m.parent, depth + 1
                FROM message m JOIN path ON m.number = path.parent)
            {_MESSAGES} JOIN path ON path.number = m.number
            ORDER BY path.depth DESC
            """,  # noqa: S608 - no value is put into the text
            {"conversation": conversation, "branch": branch},
        )
        return [_as_message(row) for row in rows]

    def messages(self, conversation: str) -> list[Message]:
        """The whole tree, in the order in which it was said."""
        rows = self._rows(
            f"{_MESSAGES} WHERE m.conversation = :conversation ORDER BY m.number",
            {"conversation": conversation},
        )
        return [_as_message(row) for row in rows]

    # Branches

    def branches(self, conversation: str) -> dict[str, str | None]:
        """Each branch's name and the message it points to, in the order in which they were made."""
        rows = self._rows(
            """
            SELECT name, (SELECT message.id FROM branch newest
                          LEFT JOIN message ON message.number = newest.head
                          WHERE newest.conversation = branch.conversation
                              AND newest.name = branch.name
                          ORDER BY newest.number DESC LIMIT 1) AS head
            FROM branch WHERE conversation = :conversation
            GROUP BY name ORDER BY min(number)
            """,
            {"conversation": conversation},
        )
        return {row["name"]: row["head"] for row in rows}

    def latest_branch(self, conversation: str) -> str:
        """The branch that was moved last: where somebody who comes back goes on."""
        rows = self._rows(
            "SELECT name FROM branch WHERE conversation = :conversation ORDER BY number DESC LIMIT 1",
            {"conversation": conversation},
        )
        return rows[0]["name"] if rows else MAIN

    def move_branch(self, conversation: str, message: str | None, branch: str = MAIN) -> None:
        """Let a branch, new or not, point to a message; None is before the first one.

        Raises:
            MessageError: there is no such message in the conversation.
        """
        with self._writing():
            self._move(conversation, branch, message)

    # Inside

    def _prepare(self) -> None:
        self._db.row_factory = sqlite3.Row
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        if version > _VERSION:
            raise StorageError(
                f"{self._place} was written by a newer rolellm (format {version}, this one knows "
                f"{_VERSION}); update rolellm."
            )
        self._switch_to_wal()
        self._db.execute("PRAGMA foreign_keys = ON")
        if version == 0:
            self._create()

    def _switch_to_wal(self) -> None:
        """SQLite does not wait by itself here when another process makes the same switch."""
        deadline = time.monotonic() + _SECONDS_TO_WAIT_FOR_ANOTHER_WRITER
        while True:
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            else:
                return

    def _create(self) -> None:
        with self._writing() as db:
            # Another process may have been faster.
            if db.execute("PRAGMA user_version").fetchone()[0] == 0:
                schema = (files(__package__) / "schema.sql").read_text(encoding="utf-8")
                for statement in _statements(schema):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {_VERSION}")

    def _insert(
        self,
        conversation: str,
        parent: str | None,
        speaker: str,
        audience: Sequence[str],
        kind: Kind,
        made_by: Mapping[str, Any],
    ) -> str:
        message = secrets.token_hex(8)
        inserted = self._db.execute(
            """
            INSERT INTO message
                (id, conversation, parent, speaker, audience, kind, made_by, created)
            SELECT :id, c.id, parent.number, :speaker, :audience, :kind, :made_by, :created
            FROM conversation c
            LEFT JOIN message parent ON parent.id = :parent AND parent.conversation = c.id
            WHERE c.id = :conversation AND (:parent IS NULL OR parent.number IS NOT NULL)
            """,
            {
                "id": message,
                "conversation": conversation,
                "parent": parent,
                "speaker": speaker,
                "audience": _to_json(list(audience)),
                "kind": kind,
                "made_by": _to_json(dict(made_by)),
                "created": _now(),
            },
        )
        if inserted.rowcount != 1:
            what = "conversation" if parent is None else f"message {parent!r} in conversation"
            raise MessageError(f"There is no {what} {conversation!r}.")
        return message

    def _end(
        self,
        message: str,
        text: str,
        status: Literal["complete", "stopped", "failed"],
        usage: Mapping[str, Any] | None,
        made_by: Mapping[str, Any],
    ) -> None:
        self._db.execute(
            """
            INSERT INTO body (message, text, status, usage, made_by, ended)
            SELECT number, ?, ?, ?, ?, ? FROM message WHERE id = ?
            """,
            (
                whole(text),
                status,
                _to_json(dict(usage)) if usage else None,
                _to_json(dict(made_by)),
                _now(),
                message,
            ),
        )

    def _move(self, conversation: str, branch: str, message: str | None) -> None:
        moved = self._db.execute(
            """
            INSERT INTO branch (conversation, name, head, moved)
            SELECT c.id, :branch, m.number, :now
            FROM conversation c
            LEFT JOIN message m ON m.id = :message AND m.conversation = c.id
            WHERE c.id = :conversation AND (:message IS NULL OR m.number IS NOT NULL)
            """,
            {"conversation": conversation, "branch": branch, "message": message, "now": _now()},
        )
        if moved.rowcount != 1:
            what = "conversation" if message is None else f"message {message!r} in conversation"
            raise MessageError(f"There is no {what} {conversation!r}.")

    def _rows(self, query: str, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        with self._failures_told(), self._lock:
            return [dict(row) for row in self._db.execute(query, values).fetchall()]

    @contextmanager
    def _writing(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """One transaction; a durable one is on the disk when it ends, and so are those before it."""
        with self._failures_told(), self._lock:
            self._db.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _failures_told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StorageError(_complaint(self._place, error)) from error


def _complaint(place: str, error: sqlite3.Error) -> str:
    said = str(error)
    if "full" in said:
        return f"The disk is full, so {place} cannot be written; make room and try again."
    if "readonly" in said or "read-only" in said or "unable to open" in said:
        return (
            f"{place} cannot be written ({said}); give it and its folder write permission, "
            "or set ROLELLM_HOME to a folder you can write to."
        )
    if "locked" in said:
        return f"{place} is held by another program; close it and try again."
    if "not a database" in said or "malformed" in said:
        return (
            f"{place} is not a transcript or is damaged ({said}); move it away, "
            "and the next start makes a new one."
        )
    return f"{place} cannot be used: {said}."


def _statements(schema: str) -> Iterator[str]:
    statement = ""
    for line in schema.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _as_message(row: Mapping[str, Any]) -> Message:
    status: Status = row["status"] or "cut"
    return Message(
        id=row["id"],
        conversation=row["conversation"],
        parent=row["parent"],
        speaker=row["speaker"],
        audience=tuple(json.loads(row["audience"])),
        kind=row["kind"],
        text=row["text"],
        status=status,
        made_by=json.loads(row["made_by"]) | json.loads(row["made_by_at_end"] or "{}"),
        usage=json.loads(row["usage"]) if row["usage"] else None,
        created=row["created"],
    )


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

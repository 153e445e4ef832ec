"""A new file's tables, and those of an older version made into them, inside the caller's transaction."""

import json
import sqlite3
from collections.abc import Iterator
from importlib.resources import files

from rolellm_agents.transcript import rows
from rolellm_agents.transcript.packing import to_milliseconds

_TABLES_OF_1 = ("piece", "body", "branch", "message", "conversation")
"""Each before those it refers to."""
_INDEXES_OF_1 = (
    "conversation_by_persona",
    "message_by_conversation",
    "message_by_parent",
    "branch_by_name",
)


def create_tables(db: sqlite3.Connection) -> None:
    """Make the tables of this version in a file that has none of them."""
    schema = (files(__package__) / "schema.sql").read_text(encoding="utf-8")
    for statement in _statements(schema):
        db.execute(statement)


def migrate_from_1(db: sqlite3.Connection) -> None:
    """Make version 1 into this one: nothing that can be read through a transcript differs after it.

    Version 1 wrote a row for each place where a branch pointed, so two for each message; now a message
    knows on which branch it was said, and only other moves have a row.
    """
    for index in _INDEXES_OF_1:
        db.execute(f"DROP INDEX {index}")
    for table in _TABLES_OF_1:
        db.execute(f"ALTER TABLE {table} RENAME TO old_{table}")
    create_tables(db)
    conversations = _copy_conversations(db)
    branches, moves = _read_branches(db, conversations)
    _copy_messages(db, branches)
    for move in moves:
        db.execute("INSERT INTO move (branch, head, after, moved) VALUES (?, ?, ?, ?)", move)
    db.execute("INSERT INTO piece SELECT message, number, text FROM old_piece")
    for table in _TABLES_OF_1:
        db.execute(f"DROP TABLE old_{table}")


def _copy_conversations(db: sqlite3.Connection) -> dict[str, int]:
    """Returns each one's number by its id."""
    return {
        id_: rows.insert_conversation(db, id_, persona, to_milliseconds(created), {})
        for id_, persona, created in db.execute(
            "SELECT id, persona, created FROM old_conversation ORDER BY rowid"
        ).fetchall()
    }


def _read_branches(
    db: sqlite3.Connection, conversations: dict[str, int]
) -> tuple[dict[int, int], list[tuple[int, int | None, int, int]]]:
    """Write the branches; returns on which each message was said, and the rows of the other moves.

    A message and the move to it were one transaction, so the first move to a message is that one.
    """
    said_on: dict[int, int] = {}
    moves: list[tuple[int, int | None, int, int]] = []
    newest = 0
    begun: set[int] = set()
    for conversation, name, head, moved in db.execute(
        "SELECT conversation, name, head, moved FROM old_branch ORDER BY number"
    ).fetchall():
        branch = rows.branch_number(db, conversations[conversation], name)
        if head is not None and head not in said_on:
            said_on[head] = branch
            newest = max(newest, head)
        elif head is not None or conversations[conversation] in begun:
            moves.append((branch, head, newest, to_milliseconds(moved)))
        begun.add(conversations[conversation])
    return said_on, moves


def _copy_messages(db: sqlite3.Connection, said_on: dict[int, int]) -> None:
    for row in db.execute(
        """
        SELECT m.number, m.id, m.parent, m.speaker, m.audience, m.kind, m.made_by, m.created,
               body.text, body.status, body.usage, body.made_by AS made_by_at_end, body.ended
        FROM old_message m LEFT JOIN old_body body ON body.message = m.number
        ORDER BY m.number
        """
    ):
        created = to_milliseconds(row["created"])
        made_by = json.loads(row["made_by"])
        number = rows.insert_message(
            db,
            id_=row["id"],
            number=row["number"],
            branch=said_on[row["number"]],
            parent=row["parent"],
            speaker=row["speaker"],
            audience=json.loads(row["audience"]),
            kind=row["kind"],
            made_by=made_by,
            created=created,
        )
        if row["status"]:
            rows.end_message(
                db,
                number,
                text=row["text"],
                status=row["status"],
                made_by=made_by | json.loads(row["made_by_at_end"]),
                usage=json.loads(row["usage"]) if row["usage"] else None,
                took=to_milliseconds(row["ended"]) - created or None,
            )


def _statements(schema: str) -> Iterator[str]:
    statement = ""
    for line in schema.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""

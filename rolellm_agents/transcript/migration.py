"""Creation of the tables, and migration from formats 2 and 3, inside the caller's transaction."""

import json
import re
import sqlite3
import zlib
from collections.abc import Iterator
from importlib.resources import files

from rolellm_agents.transcript.statements import to_json

_GAP = "\x1f"
_OUR_KINDS = re.compile(r"CHECK \(kind IN \([^()]*\)\)")
_BIN = ("removal", "binned", "emptied", "kept_message", "kept_conversation", "kept_branch")
_TABLE_OR_VIEW = re.compile(r"CREATE (TABLE|VIEW)")
_CREATED = re.compile(r"^CREATE (?:VIRTUAL )?(?:TABLE|INDEX|TRIGGER|VIEW) (\w+)", re.MULTILINE)


def create_tables(db: sqlite3.Connection) -> None:
    """Create each table, index, trigger and view of this format that the file does not have."""
    existing = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    schema = (files(__package__) / "schema.sql").read_text(encoding="utf-8")
    for statement in _statements(schema):
        created = _CREATED.search(statement)
        if created is None or created[1] not in existing:
            db.execute(statement)


def migrate_from_2(db: sqlite3.Connection) -> None:
    """Convert the messages of format 2 to the current format; all other tables stay unchanged.

    Format 2 deflated long texts. It split an answer's provenance into a `shape`, which is JSON with a gap
    for each value that differs between answers, and the message's `own` values.

    Raises:
        ValueError: a message cannot be read.
    """
    # Keep the references of other tables to `message`.
    db.execute("PRAGMA legacy_alter_table = ON")
    for trigger in ("message_ends_once", "message_stays"):
        db.execute(f"DROP TRIGGER {trigger}")
    for index in ("message_by_branch", "message_by_parent"):
        db.execute(f"DROP INDEX {index}")
    db.execute("ALTER TABLE message RENAME TO packed_message")
    create_tables(db)
    db.executemany(
        """
        INSERT INTO message
            (number, id, branch, parent, manner, created, status, took, made_by, usage, text)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        _unpacked_messages(db),
    )
    db.execute("DROP TABLE packed_message")
    db.execute("DROP TABLE shape")
    db.execute("PRAGMA legacy_alter_table = OFF")


def migrate_from_3(db: sqlite3.Connection) -> None:
    """Add the bin; no row of format 3 changes."""
    for trigger in ("message_ends_once", "message_stays"):
        db.execute(f"DROP TRIGGER {trigger}")
    create_tables(db)


def stand_in_for_bin(db: sqlite3.Connection) -> None:
    """Give a file of format 3, which cannot be written, an empty bin that only this connection has."""
    schema = (files(__package__) / "schema.sql").read_text(encoding="utf-8")
    for statement in _statements(schema):
        created = _CREATED.search(statement)
        if created and created[1] in _BIN:
            db.execute(_TABLE_OR_VIEW.sub(r"CREATE TEMP \1", statement))


def admits_only_our_kinds(db: sqlite3.Connection) -> bool:
    """Whether the file refuses message kinds that are not ours, as every file does at first."""
    return bool(_OUR_KINDS.search(_manner_table(db)))


def admit_other_kinds(db: sqlite3.Connection) -> None:
    """Let the file admit message kinds that are not ours; foreign keys must not be enforced meanwhile.

    The file's version stays the same: every program that knows this format can read the file.
    """
    admitting = _OUR_KINDS.sub("CHECK (kind <> '' AND kind NOT GLOB '*[^a-z0-9-]*')", _manner_table(db))
    # Keep the references of `message` to `manner`.
    db.execute("PRAGMA legacy_alter_table = ON")
    db.execute("ALTER TABLE manner RENAME TO our_manner")
    db.execute(admitting)
    db.execute("INSERT INTO manner SELECT number, speaker, audience, kind FROM our_manner")
    db.execute("DROP TABLE our_manner")
    db.execute("PRAGMA legacy_alter_table = OFF")


def _manner_table(db: sqlite3.Connection) -> str:
    (table,) = db.execute("SELECT sql FROM sqlite_master WHERE name = 'manner'").fetchone()
    return str(table)


def _unpacked_messages(db: sqlite3.Connection) -> Iterator[tuple[object, ...]]:
    for *kept, shape, own, text in db.execute(
        """
        SELECT m.number, m.id, m.branch, m.parent, m.manner, m.created, m.status, m.took,
               shape.json, m.own, m.text
        FROM packed_message m LEFT JOIN shape ON shape.number = m.shape
        ORDER BY m.number
        """
    ):
        provenance = joined_json(shape, own)
        parts = (to_json(provenance[key]) if key in provenance else None for key in ("made_by", "usage"))
        yield (*kept, *parts, None if text is None else inflated(text))


def joined_json(shape: str | bytes | None, own: str | bytes | None) -> dict[str, object]:
    """The provenance of a message of format 2; empty without a shape.

    Raises:
        ValueError: the shape and the values do not fit together, or are not JSON.
    """
    if shape is None:
        return {}
    parts = inflated(shape).split(_GAP)
    values = inflated(own).split(_GAP) if own else []
    joined = "".join(part + value for part, value in zip(parts, [*values, ""], strict=True))
    value: dict[str, object] = json.loads(joined)
    return value


def inflated(stored: str | bytes) -> str:
    """A text of format 2.

    Raises:
        ValueError: it cannot be decompressed.
    """
    if isinstance(stored, str):
        return stored
    try:
        return zlib.decompress(stored, wbits=-15).decode()
    except zlib.error as error:
        raise ValueError(f"a text cannot be decompressed: {error}") from error


def _statements(schema: str) -> Iterator[str]:
    statement = ""
    for line in schema.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""

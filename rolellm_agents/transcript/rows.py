"""How messages and what they hang on become rows and come back; inside the caller's transaction."""

import json
import sqlite3
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from rolellm_agents.text import one_line, whole
from rolellm_agents.transcript.message import Ending, Kind, Message
from rolellm_agents.transcript.packing import (
    digest_of,
    join_json,
    pack_text,
    split_json,
    to_iso,
    to_json,
    unpack_text,
)
from rolellm_agents.transcript.search_words import index_of

_ENDINGS: tuple[Ending, ...] = ("complete", "stopped", "failed")
"""Each one's place is its number in the file."""

_TITLE_WIDTH = 200

WORDS_SO_FAR = """
SELECT group_concat(text, '')
FROM (SELECT text FROM piece WHERE piece.message = m.number ORDER BY piece.number)
"""
"""What there is of message `m`, which has not ended."""

MESSAGES = f"""
SELECT m.number, m.id, conversation.id, parent.id, manner.speaker, manner.audience, manner.kind, m.created,
       shape.json, m.own, m.status, coalesce(m.text, ({WORDS_SO_FAR}), '')
FROM message m
JOIN branch ON branch.number = m.branch
JOIN conversation ON conversation.number = branch.conversation
JOIN manner ON manner.number = m.manner
LEFT JOIN message parent ON parent.number = m.parent
LEFT JOIN shape ON shape.number = m.shape
"""  # noqa: S608 - no value is put into the text
"""Rows for `as_message`."""


def now() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def id_bytes(id_: str) -> bytes:
    """A message's id as it is stored; bytes that no message has when it is none."""
    try:
        return bytes.fromhex(id_)
    except ValueError:
        return b""


def insert_conversation(
    db: sqlite3.Connection, id_: str, persona: str, created: int, extensions: Mapping[str, Any]
) -> int:
    """Add a conversation; returns its number."""
    inserted = db.execute(
        "INSERT INTO conversation (id, persona, created, extensions) VALUES (?, ?, ?, ?)",
        (id_, persona, created, to_json(extensions) if extensions else None),
    )
    return _number(inserted)


def insert_title(db: sqlite3.Connection, conversation: int, title: str) -> None:
    """Give a conversation a title."""
    db.execute(
        "INSERT INTO title (conversation, text, given) VALUES (?, ?, ?)",
        (conversation, one_line(title, _TITLE_WIDTH), now()),
    )


def insert_note(db: sqlite3.Connection, conversation: int, text: str) -> None:
    """Give a conversation an author's note."""
    db.execute(
        "INSERT INTO note (conversation, text, written) VALUES (?, ?, ?)",
        (conversation, whole(text), now()),
    )


def insert_archiving(db: sqlite3.Connection, conversation: int, *, archived: bool) -> None:
    """Put a conversation away, or take it out again."""
    db.execute(
        "INSERT INTO archiving (conversation, archived, decided) VALUES (?, ?, ?)",
        (conversation, archived, now()),
    )


def branch_number(db: sqlite3.Connection, conversation: int, name: str) -> int:
    """The branch of this name, which is made if there is none."""
    values = {"conversation": conversation, "name": name}
    return _found_or_added(
        db,
        "SELECT number FROM branch WHERE conversation = :conversation AND name = :name",
        "INSERT INTO branch (conversation, name) VALUES (:conversation, :name)",
        values,
    )


def insert_move(db: sqlite3.Connection, branch: int, head: int | None) -> None:
    """Let a branch point to a message, or before the first one."""
    db.execute(
        """
        INSERT INTO move (branch, head, after, moved)
        VALUES (?, ?, (SELECT coalesce(max(number), 0) FROM message), ?)
        """,
        (branch, head, now()),
    )


def insert_message(
    db: sqlite3.Connection,
    *,
    id_: str,
    branch: int,
    parent: int | None,
    speaker: str,
    audience: Sequence[str],
    kind: Kind,
    made_by: Mapping[str, Any],
    created: int,
    number: int | None = None,
) -> int:
    """Add a message that has not ended; returns its number, which is the next one unless given."""
    shape, own = _split(db, _told(made_by, None))
    inserted = db.execute(
        """
        INSERT INTO message (number, id, branch, parent, manner, created, shape, own)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            number,
            id_bytes(id_),
            branch,
            parent,
            turn_kind_number(db, speaker, audience, kind),
            created,
            shape,
            own,
        ),
    )
    return _number(inserted)


def insert_piece(db: sqlite3.Connection, message: int, text: str) -> None:
    """Add words to a message that has not ended."""
    db.execute(
        """
        INSERT INTO piece (message, number, text)
        VALUES (:message, (SELECT coalesce(max(number), 0) + 1 FROM piece WHERE message = :message), :text)
        """,
        {"message": message, "text": whole(text)},
    )


def end_message(
    db: sqlite3.Connection,
    number: int,
    *,
    text: str,
    status: Ending,
    made_by: Mapping[str, Any],
    usage: Mapping[str, Any] | None,
    took: int | None,
    turn_kind: int | None = None,
) -> None:
    """Give a message its final words, and make them known to the search.

    Args:
        db: the connection.
        number: the message's; it has not ended.
        text: its words.
        status: how it ended.
        made_by: all that made it, what was known at its beginning too.
        usage: token counts.
        took: milliseconds; None when it came in one piece.
        turn_kind: who speaks to whom and how, if the end tells it otherwise than the beginning.
    """
    shape, own = _split(db, _told(made_by, usage))
    db.execute(
        """
        UPDATE message SET shape = ?, own = ?, status = ?, took = ?, text = ?, manner = coalesce(?, manner)
        WHERE number = ?
        """,
        (shape, own, _ENDINGS.index(status), took, pack_text(text), turn_kind, number),
    )
    db.execute("INSERT INTO word (rowid, words) VALUES (?, ?)", (number, index_of(text)))


def as_message(row: sqlite3.Row) -> Message:
    """A row of `MESSAGES` as it is handed out."""
    # By place, since a long conversation has thousands of rows and looking up names takes longer.
    _, id_, conversation, parent, speaker, audience, kind, created, shape, own, status, text = row
    told = join_json(shape, own) if shape else {}
    return Message(
        id=id_.hex(),
        conversation=conversation,
        parent=parent.hex() if parent else None,
        speaker=speaker,
        audience=_parsed_audience(audience),
        kind=kind,
        text=unpack_text(text),
        status="cut" if status is None else _ENDINGS[status],
        made_by=told.get("made_by", {}),
        usage=told.get("usage"),
        created=to_iso(created),
    )


def _told(made_by: Mapping[str, Any], usage: Mapping[str, Any] | None) -> dict[str, Any]:
    return {key: dict(value) for key, value in (("made_by", made_by), ("usage", usage)) if value}


def turn_kind_number(db: sqlite3.Connection, speaker: str, audience: Sequence[str], kind: Kind) -> int:
    """The number of a way to speak; it is made when there is none."""
    return _found_or_added(
        db,
        "SELECT number FROM manner WHERE speaker = :speaker AND audience = :audience AND kind = :kind",
        "INSERT INTO manner (speaker, audience, kind) VALUES (:speaker, :audience, :kind)",
        {"speaker": speaker, "audience": to_json(list(audience)), "kind": kind},
    )


def _split(db: sqlite3.Connection, value: Mapping[str, Any]) -> tuple[int | None, str | bytes | None]:
    if not value:
        return None, None
    shape, own = split_json(value)
    number = _found_or_added(
        db,
        "SELECT number FROM shape WHERE digest = :digest AND json = :json",
        "INSERT INTO shape (digest, json) VALUES (:digest, :json)",
        {"digest": digest_of(shape), "json": pack_text(shape)},
    )
    return number, pack_text(own) if own else None


def _found_or_added(db: sqlite3.Connection, query: str, insertion: str, values: Mapping[str, Any]) -> int:
    for (number,) in db.execute(query, values):
        found: int = number
        return found
    return _number(db.execute(insertion, values))


def _number(inserted: sqlite3.Cursor) -> int:
    if inserted.lastrowid is None:
        raise sqlite3.InternalError("a row was inserted and has no number")
    return inserted.lastrowid


@lru_cache(maxsize=256)
def _parsed_audience(audience: str) -> tuple[str, ...]:
    return tuple(json.loads(audience))

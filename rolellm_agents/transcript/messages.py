"""SQL of messages: writing them in pieces, ending them, reading them.

The functions run inside the caller's transaction.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any

from rolellm_agents.errors import MessageError
from rolellm_agents.text import replace_surrogates
from rolellm_agents.transcript.message import Ending, Kind, Message
from rolellm_agents.transcript.search_words import index_of
from rolellm_agents.transcript.statements import find_or_add, inserted_number, to_json
from rolellm_agents.transcript.times import to_iso

_ENDINGS: tuple[Ending, ...] = ("complete", "stopped", "failed")
"""The file stores the index."""

WORDS_SO_FAR = """
SELECT group_concat(text, '')
FROM (SELECT text FROM piece WHERE piece.message = m.number ORDER BY piece.number)
"""
"""SQL for the text so far of message `m`, which has not ended."""

_ALL_MESSAGES = f"""
SELECT m.number, m.id, conversation.id, parent.id, manner.speaker, manner.audience, manner.kind, m.created,
       m.made_by, m.usage, m.status, coalesce(m.text, ({WORDS_SO_FAR}), '')
FROM message m
JOIN branch ON branch.number = m.branch
JOIN conversation ON conversation.number = branch.conversation
JOIN manner ON manner.number = m.manner
LEFT JOIN message parent ON parent.number = m.parent
"""  # noqa: S608 - no value is put into the text
_MESSAGES = _ALL_MESSAGES.replace("FROM message m", "FROM kept_message m")


def id_bytes(id_: str) -> bytes:
    """A message's id in its stored form; empty, which no message has, for invalid ids."""
    try:
        return bytes.fromhex(id_)
    except ValueError:
        return b""


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
) -> int:
    """Add a message that has not ended, and return its number."""
    inserted = db.execute(
        """
        INSERT INTO message (number, id, branch, parent, manner, created, made_by)
        VALUES (1 + max((SELECT coalesce(max(number), 0) FROM message),
                        (SELECT coalesce(max(highest), 0) FROM emptied)), ?, ?, ?, ?, ?, ?)
        """,
        (
            id_bytes(id_),
            branch,
            parent,
            _turn_kind_number(db, speaker, audience, kind),
            created,
            _json_or_null(made_by),
        ),
    )
    return inserted_number(inserted)


def insert_piece(db: sqlite3.Connection, message: int, text: str) -> None:
    """Add text to a message that has not ended."""
    db.execute(
        """
        INSERT INTO piece (message, number, text)
        VALUES (:message, (SELECT coalesce(max(number), 0) + 1 FROM piece WHERE message = :message), :text)
        """,
        {"message": message, "text": replace_surrogates(text)},
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
) -> None:
    """Set the final text of a message, and add it to the search index.

    The message has not ended. Text and provenance are complete; the provenance replaces that of the
    message's start. `took` is in milliseconds; None for a message that was not streamed.
    """
    text = replace_surrogates(text)
    db.execute(
        "UPDATE message SET made_by = ?, usage = ?, status = ?, took = ?, text = ? WHERE number = ?",
        (_json_or_null(made_by), _json_or_null(usage), _ENDINGS.index(status), took, text, number),
    )
    db.execute("INSERT INTO word (rowid, words) VALUES (?, ?)", (number, index_of(text)))


def change_kind(db: sqlite3.Connection, number: int, message: Message, kind: Kind) -> None:
    """Change the kind of a message that has not ended."""
    turn_kind = _turn_kind_number(db, message.speaker, message.audience, kind)
    db.execute("UPDATE message SET manner = ? WHERE number = ?", (turn_kind, number))


def delete_pieces(db: sqlite3.Connection, message: int) -> None:
    """Delete the pieces of a message that has ended."""
    db.execute("DELETE FROM piece WHERE message = ?", (message,))


def unfinished_number(db: sqlite3.Connection, message: str) -> int:
    """The number of a message that is being written.

    Raises:
        MessageError: there is no such message, or it has ended.
    """
    for number, status in db.execute(
        "SELECT number, status FROM message WHERE id = ?", (id_bytes(message),)
    ):
        if status is not None:
            raise MessageError(f"The message {message!r} has ended; nothing can be added to it.")
        found: int = number
        return found
    raise MessageError(f"There is no message {message!r}.")


def message_number(db: sqlite3.Connection, message: str) -> int:
    """The number of a message.

    Raises:
        MessageError: there is no such message.
    """
    for (number,) in db.execute("SELECT number FROM kept_message WHERE id = ?", (id_bytes(message),)):
        found: int = number
        return found
    raise MessageError(f"There is no message {message!r}.")


def read_message(db: sqlite3.Connection, message: str) -> Message:
    """Read one message.

    Raises:
        MessageError: there is no message with this id.
    """
    for found in _read(db, "WHERE m.id = :id", {"id": id_bytes(message)}):
        return found
    raise MessageError(f"There is no message {message!r}.")


def read_written(db: sqlite3.Connection, message: str) -> Message:
    """Read a message for its writer, who goes on writing even if it is in the bin.

    Raises:
        MessageError: there is no message with this id.
    """
    for row in db.execute(f"{_ALL_MESSAGES} WHERE m.id = :id", {"id": id_bytes(message)}):
        return _as_message(row)
    raise MessageError(f"There is no message {message!r}.")


def read_siblings(db: sqlite3.Connection, message: str) -> list[Message]:
    """All messages that follow the same parent in the same conversation."""
    return _read(
        db,
        """
        JOIN message one ON one.id = :id
        JOIN branch its ON its.number = one.branch
        JOIN branch beside ON beside.conversation = its.conversation
        WHERE m.parent IS one.parent AND m.branch = beside.number
        """,
        {"id": id_bytes(message)},
    )


def read_children(db: sqlite3.Connection, message: str) -> list[Message]:
    """All messages whose parent is this message."""
    return _read(db, "WHERE parent.id = :id", {"id": id_bytes(message)})


def read_path(db: sqlite3.Connection, head: int | None) -> list[Message]:
    """The messages from the first one to the one with this number."""
    return _read(
        db,
        """
        JOIN (WITH RECURSIVE path (number, parent) AS (
                  SELECT number, parent FROM message WHERE number = :head
                  UNION ALL
                  SELECT message.number, message.parent
                  FROM message JOIN path ON message.number = path.parent)
              SELECT number FROM path) path ON path.number = m.number
        """,
        {"head": head},
    )


def latest_after(db: sqlite3.Connection, number: int) -> int:
    """The number of the last message on the path from this message through each newest child."""
    latest: int = db.execute(
        """
        WITH RECURSIVE way (number) AS (
            VALUES (:number)
            UNION ALL
            SELECT (SELECT max(next.number) FROM kept_message next WHERE next.parent = way.number)
            FROM way WHERE way.number IS NOT NULL)
        SELECT max(number) FROM way
        """,
        {"number": number},
    ).fetchone()[0]
    return latest


def read_tree(db: sqlite3.Connection, conversation: str) -> list[Message]:
    """All messages of a conversation."""
    return _read(db, "WHERE conversation.id = :conversation", {"conversation": conversation})


def _read(db: sqlite3.Connection, which: str, values: Mapping[str, Any]) -> list[Message]:
    """Matching messages in the order of creation, which is also the order of every path."""
    found = db.execute(f"{_MESSAGES} {which}", values).fetchall()
    # SQLite would copy all texts while sorting.
    found.sort(key=itemgetter(0))
    return [_as_message(row) for row in found]


def _as_message(row: sqlite3.Row) -> Message:
    # By position, because lookups by name are slower and a long conversation has thousands of rows.
    _, id_, conversation, parent, speaker, audience, kind, created, made_by, usage, status, text = row
    return Message(
        id=id_.hex(),
        conversation=conversation,
        parent=parent.hex() if parent else None,
        speaker=speaker,
        audience=_parsed_audience(audience),
        kind=kind,
        text=text,
        status="cut" if status is None else _ENDINGS[status],
        made_by=json.loads(made_by) if made_by else {},
        usage=json.loads(usage) if usage else None,
        created=to_iso(created),
    )


def _turn_kind_number(db: sqlite3.Connection, speaker: str, audience: Sequence[str], kind: Kind) -> int:
    """The number of the row with a speaker, an audience and a kind, which is added if it is missing."""
    return find_or_add(
        db,
        "SELECT number FROM manner WHERE speaker = :speaker AND audience = :audience AND kind = :kind",
        "INSERT INTO manner (speaker, audience, kind) VALUES (:speaker, :audience, :kind)",
        {"speaker": speaker, "audience": to_json(list(audience)), "kind": kind},
    )


def _json_or_null(value: Mapping[str, Any] | None) -> str | None:
    return to_json(dict(value)) if value else None


@lru_cache(maxsize=256)
def _parsed_audience(audience: str) -> tuple[str, ...]:
    return tuple(json.loads(audience))

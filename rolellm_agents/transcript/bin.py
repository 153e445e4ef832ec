"""SQL of the bin: deleting, listing what was deleted, and taking it back.

The functions run inside the caller's transaction. Deleting moves nothing: the rows of `removal` and
`binned` hide what they name, so taking it back is the same as never having deleted it.
"""

import secrets
import sqlite3
from collections.abc import Iterable
from typing import Final

from rolellm_agents.errors import MessageError
from rolellm_agents.transcript.branches import free_branch_name, read_positions
from rolellm_agents.transcript.conversations import conversation_number, read_draft, write_draft
from rolellm_agents.transcript.message import BinEntry, Deletable, DeletionExtent
from rolellm_agents.transcript.messages import message_number
from rolellm_agents.transcript.statements import inserted_number
from rolellm_agents.transcript.times import now, to_iso

DAYS_IN_BIN: Final = 30
"""After so many days in the bin, a deletion is final."""
_DAY: Final = 24 * 60 * 60 * 1000

_BELOW: Final = """
WITH RECURSIVE below (number) AS (
    VALUES (:root)
    UNION ALL
    SELECT message.number FROM below CROSS JOIN message ON message.parent = below.number
    WHERE NOT EXISTS (SELECT 1 FROM binned WHERE binned.message = message.number))
"""
"""A message and everything that rests on it and is not in the bin."""

_LISTED: Final = """
SELECT removal.number, removal.id, removal.kind, removal.name, removal.deleted,
       conversation.id AS conversation, conversation.persona,
       coalesce((SELECT title.text FROM title WHERE title.conversation = conversation.number
                 ORDER BY title.number DESC LIMIT 1), '') AS title,
       (SELECT count(*) FROM binned WHERE binned.removal = removal.number) AS messages
FROM removal LEFT JOIN conversation ON conversation.number = removal.conversation
WHERE NOT removal.emptying AND removal.deleted > :oldest
ORDER BY removal.number DESC
"""


def oldest_in_bin(moment: int) -> int:
    """The time in milliseconds before which a deletion is final at a moment."""
    return moment - DAYS_IN_BIN * _DAY


def measure_message(db: sqlite3.Connection, message: str) -> DeletionExtent:
    """What deleting a message deletes: the message and everything that rests on it.

    Raises:
        MessageError: there is no such message.
    """
    return DeletionExtent(messages=_count_below(db, message_number(db, message)))


def bin_message(db: sqlite3.Connection, message: str) -> str:
    """Put a message and everything that rests on it into the bin, and return the deletion's id.

    Raises:
        MessageError: there is no such message.
    """
    number = message_number(db, message)
    (conversation,) = db.execute(
        "SELECT conversation FROM message JOIN branch ON branch.number = message.branch "
        "WHERE message.number = ?",
        (number,),
    ).fetchone()
    id_ = _new_id(db)
    _hide_below(db, _insert(db, id_, "message", conversation=conversation, root=number), number)
    return id_


def measure_branch(db: sqlite3.Connection, conversation: str, name: str) -> DeletionExtent:
    """What deleting a branch deletes: the messages that no other branch shares.

    Raises:
        MessageError: there is no such branch, or no other one.
    """
    _, root = _own_part(db, conversation, name)
    return DeletionExtent(messages=0 if root is None else _count_below(db, root))


def bin_branch(db: sqlite3.Connection, conversation: str, name: str) -> str:
    """Put a branch and what no other branch shares into the bin, and return the deletion's id.

    Raises:
        MessageError: there is no such branch, or no other one.
    """
    branch, root = _own_part(db, conversation, name)
    id_ = _new_id(db)
    removal = _insert(
        db,
        id_,
        "branch",
        conversation=conversation_number(db, conversation),
        root=root,
        branch=branch,
        name=name,
    )
    # A new branch can have this name meanwhile.
    db.execute("UPDATE branch SET name = ? WHERE number = ?", (f"deleted {id_}", branch))
    if root is not None:
        _hide_below(db, removal, root)
    return id_


def measure_conversations(db: sqlite3.Connection, conversations: Iterable[str]) -> DeletionExtent:
    """What deleting conversations deletes.

    Raises:
        MessageError: there is no such conversation.
    """
    numbers = [conversation_number(db, conversation) for conversation in conversations]
    counts = [
        db.execute(
            "SELECT count(*) FROM branch CROSS JOIN kept_message message ON message.branch = branch.number "
            "WHERE branch.conversation = ?",
            (number,),
        ).fetchone()[0]
        for number in numbers
    ]
    return DeletionExtent(messages=sum(counts), conversations=len(numbers))


def bin_conversations(db: sqlite3.Connection, conversations: Iterable[str]) -> str:
    """Put conversations into the bin together, and return the deletion's id.

    Raises:
        MessageError: there is no such conversation.
    """
    id_ = _new_id(db)
    for conversation in conversations:
        number = conversation_number(db, conversation)
        removal = _insert(db, id_, "conversation", conversation=number)
        db.execute(
            """
            INSERT INTO binned (message, removal)
            SELECT message.number, ?
            FROM branch CROSS JOIN kept_message message ON message.branch = branch.number
            WHERE branch.conversation = ?
            """,
            (removal, number),
        )
    return id_


def conversations_of(db: sqlite3.Connection, persona: str) -> list[str]:
    """The ids of all conversations with a persona, also archived ones and ones without messages."""
    return [
        id_
        for (id_,) in db.execute(
            "SELECT id FROM kept_conversation WHERE persona = ? ORDER BY number", (persona,)
        )
    ]


def bin_persona(db: sqlite3.Connection, persona: str) -> str:
    """Put all conversations with a persona and its draft into the bin, and return the deletion's id."""
    id_ = bin_conversations(db, conversations_of(db, persona))
    if draft := read_draft(db, persona):
        _insert(db, id_, "draft", name=persona, text=draft)
        write_draft(db, persona, "")
    return id_


def list_bin(db: sqlite3.Connection) -> list[BinEntry]:
    """All deletions that can be taken back, the latest first."""
    moment = now()
    found: dict[str, list[sqlite3.Row]] = {}
    for row in db.execute(_LISTED, {"oldest": oldest_in_bin(moment)}):
        found.setdefault(row["id"], []).append(row)
    return [_as_entry(id_, rows, moment) for id_, rows in found.items()]


def find_in_bin(db: sqlite3.Connection, reference: str) -> BinEntry:
    """Find a deletion by its id or a unique prefix of it.

    Raises:
        MessageError: none matches, or several do.
    """
    found = [entry for entry in list_bin(db) if entry.id.startswith(reference)]
    if len(found) == 1 and reference:
        return found[0]
    what = f"{len(found)} deletions begin with" if found else "Nothing in the bin is called"
    raise MessageError(f"{what} {reference!r}; “rolellm history bin list” shows all.")


def take_back(db: sqlite3.Connection, reference: str) -> BinEntry:
    """Take a deletion back.

    Raises:
        MessageError: no deletion matches or several do, or it rests on another one.
    """
    entry = find_in_bin(db, reference)
    rows = db.execute("SELECT * FROM removal WHERE id = ? ORDER BY number", (entry.id,)).fetchall()
    for row in rows:
        _refuse_without_ground(db, row)
    for row in rows:
        if row["branch"] is not None:
            name = free_branch_name(db, row["conversation"], row["name"])
            db.execute("UPDATE branch SET name = ? WHERE number = ?", (name, row["branch"]))
        if row["kind"] == "draft" and not read_draft(db, row["name"]):
            write_draft(db, row["name"], row["text"])
        db.execute("DELETE FROM binned WHERE removal = ?", (row["number"],))
        db.execute("DELETE FROM removal WHERE number = ?", (row["number"],))
    return entry


def _refuse_without_ground(db: sqlite3.Connection, removal: sqlite3.Row) -> None:
    """What a deletion restores must rest on something that is there."""
    for (other,) in db.execute(
        """
        SELECT other.id FROM removal other
        WHERE other.conversation = :conversation AND other.id <> :id
          AND (other.kind = 'conversation'
               OR other.number = (SELECT binned.removal FROM message root
                                  JOIN binned ON binned.message = root.parent WHERE root.number = :root))
        """,
        {"conversation": removal["conversation"], "id": removal["id"], "root": removal["root"]},
    ):
        raise MessageError(
            f"What this rests on is in the bin, too; take that back first, with “rolellm history bin "
            f"restore {other}”."
        )


def _own_part(db: sqlite3.Connection, conversation: str, name: str) -> tuple[int, int | None]:
    """A branch's number, and the first message that no other branch shares; None if all are shared."""
    conversation_number(db, conversation)
    positions = read_positions(db, conversation)
    chosen = next((position for position in positions if position.name == name), None)
    if chosen is None:
        raise MessageError(f"There is no branch {name!r} in this conversation.")
    others = {position.head for position in positions if position.name != name}
    if not others:
        raise MessageError("This is the only branch; delete the conversation instead.")
    shared = {number for head in others for number in _path(db, head)}
    own = [number for number in _path(db, chosen.head) if number not in shared]
    return chosen.branch, min(own, default=None)


def _path(db: sqlite3.Connection, head: int | None) -> Iterable[int]:
    return (
        number
        for (number,) in db.execute(
            """
            WITH RECURSIVE path (number) AS (
                VALUES (?)
                UNION ALL
                SELECT message.parent FROM path JOIN message ON message.number = path.number)
            SELECT number FROM path WHERE number IS NOT NULL
            """,
            (head,),
        )
    )


def _count_below(db: sqlite3.Connection, root: int) -> int:
    query = f"{_BELOW} SELECT count(*) FROM below"  # noqa: S608 - ours
    count: int = db.execute(query, {"root": root}).fetchone()[0]
    return count


def _hide_below(db: sqlite3.Connection, removal: int, root: int) -> None:
    statement = f"INSERT INTO binned (message, removal) {_BELOW} SELECT number, :removal FROM below"  # noqa: S608
    db.execute(statement, {"root": root, "removal": removal})


def _insert(
    db: sqlite3.Connection,
    id_: str,
    kind: str,
    *,
    conversation: int | None = None,
    root: int | None = None,
    branch: int | None = None,
    name: str | None = None,
    text: str | None = None,
) -> int:
    return inserted_number(
        db.execute(
            """
            INSERT INTO removal (id, kind, conversation, root, branch, name, text, deleted, emptying)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)
            """,
            (id_, kind, conversation, root, branch, name, text, now()),
        )
    )


def _new_id(db: sqlite3.Connection) -> str:
    while True:
        id_ = secrets.token_hex(4)
        if not db.execute("SELECT 1 FROM removal WHERE id = ?", (id_,)).fetchone():
            return id_


def _as_entry(id_: str, rows: list[sqlite3.Row], moment: int) -> BinEntry:
    first = rows[0]
    of_conversations = [row for row in rows if row["kind"] == "conversation"]
    kind: Deletable = "persona" if len(rows) > 1 or first["kind"] == "draft" else first["kind"]
    past = max(0, moment - first["deleted"])
    return BinEntry(
        id=id_,
        kind=kind,
        persona=next((row["persona"] or row["name"] for row in rows), ""),
        conversation=first["conversation"] if kind != "persona" else None,
        title=first["title"] if kind != "persona" else "",
        branch=first["name"] if kind == "branch" else "",
        conversations=len(of_conversations),
        messages=sum(row["messages"] for row in rows),
        deleted=to_iso(first["deleted"]),
        days_left=max(1, DAYS_IN_BIN - past // _DAY),
    )

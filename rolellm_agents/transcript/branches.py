"""SQL of branches: their positions and moves. The functions run inside the caller's transaction."""

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from rolellm_agents.errors import MessageError
from rolellm_agents.transcript.messages import id_bytes
from rolellm_agents.transcript.statements import find_or_add
from rolellm_agents.transcript.times import now

MAIN = "main"
"""The first branch of every conversation."""

_POSITIONS = """
SELECT place.number AS branch, place.name, place.head, message.id AS head_id,
       place.newest, place.after, place.moved
FROM (SELECT said.name, said.number, said.newest, move.number AS moved, move.after,
             CASE WHEN move.number IS NULL OR said.newest > move.after THEN said.newest
                  ELSE move.head END AS head
      FROM (SELECT branch.number, branch.name,
                   (SELECT max(number) FROM message WHERE message.branch = branch.number) AS newest
            FROM kept_branch branch
            JOIN kept_conversation conversation ON conversation.number = branch.conversation
            WHERE conversation.id = :conversation) said
      LEFT JOIN move ON move.number = (SELECT max(number) FROM move WHERE move.branch = said.number)) place
LEFT JOIN message ON message.number = place.head
ORDER BY place.number
"""


class BranchPosition(NamedTuple):
    """The message to which a branch points."""

    branch: int
    """The branch's number."""
    name: str
    head: int | None
    """The message's number; None before the first message."""
    head_id: str | None
    since: tuple[int, int]
    """A sort key, which is greater for a branch that was moved later."""


def branch_number(db: sqlite3.Connection, conversation: int, name: str) -> int:
    """The number of a branch, which is created if it does not exist."""
    return find_or_add(
        db,
        "SELECT number FROM branch WHERE conversation = :conversation AND name = :name",
        "INSERT INTO branch (conversation, name) VALUES (:conversation, :name)",
        {"conversation": conversation, "name": name},
    )


def free_branch_name(db: sqlite3.Connection, conversation: int, name: str) -> str:
    """A name, or the name with a number if a branch of the conversation has it."""
    taken = {
        one for (one,) in db.execute("SELECT name FROM branch WHERE conversation = ?", (conversation,))
    }
    free, number = name, 2
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    return free


def insert_move(db: sqlite3.Connection, branch: int, head: int | None) -> None:
    """Move a branch to a message; None is the position before the first message."""
    db.execute(
        """
        INSERT INTO move (branch, head, after, moved)
        VALUES (?, ?, (SELECT coalesce(max(number), 0) FROM message), ?)
        """,
        (branch, head, now()),
    )


def read_positions(db: sqlite3.Connection, conversation: str) -> list[BranchPosition]:
    """The positions of all branches, in the order of their creation."""
    rows = db.execute(_POSITIONS, {"conversation": conversation}).fetchall()
    return [_before_the_bin(db, _as_position(row)) for row in rows]


def _before_the_bin(db: sqlite3.Connection, position: BranchPosition) -> BranchPosition:
    """The position, moved before what was deleted at its end; it returns when that is taken back."""
    head, moved = position.head, False
    while head is not None and (
        row := db.execute(
            """
            SELECT root.parent FROM binned
            JOIN removal ON removal.number = binned.removal
            JOIN message root ON root.number = removal.root
            WHERE binned.message = ?
            """,
            (head,),
        ).fetchone()
    ):
        head, moved = row[0], True
    if not moved:
        return position
    id_ = head and db.execute("SELECT id FROM message WHERE number = ?", (head,)).fetchone()[0]
    return position._replace(head=head, head_id=id_.hex() if id_ else None)


def latest_of(positions: Sequence[BranchPosition]) -> str:
    """The branch that was moved last."""
    return max(positions, key=lambda position: position.since).name if positions else MAIN


def number_in_conversation(db: sqlite3.Connection, conversation: str, message: str | None) -> int | None:
    """The number of a message of this conversation; None if `message` is None.

    Raises:
        MessageError: there is no such message in the conversation.
    """
    if message is None:
        return None
    for (number,) in db.execute(
        """
        SELECT message.number FROM kept_message message
        JOIN branch ON branch.number = message.branch
        JOIN kept_conversation conversation ON conversation.number = branch.conversation
        WHERE message.id = ? AND conversation.id = ?
        """,
        (id_bytes(message), conversation),
    ):
        found: int = number
        return found
    if db.execute(
        "SELECT 1 FROM message JOIN binned ON binned.message = message.number WHERE message.id = ?",
        (id_bytes(message),),
    ).fetchone():
        raise MessageError(
            "The message before it was deleted and is in the bin; take it back, or reopen the conversation "
            "to go on before it."
        )
    raise MessageError(f"There is no message {message!r} in conversation {conversation!r}.")


def _as_position(row: sqlite3.Row) -> BranchPosition:
    newest, moved = row["newest"], row["moved"]
    if moved is not None and row["after"] >= (newest or 0):
        since = (row["after"], moved)
    else:
        since = (-1, 0) if newest is None else (newest, 0)
    head_id = row["head_id"].hex() if row["head_id"] else None
    return BranchPosition(row["branch"], row["name"], row["head"], head_id, since)

"""Where the branches of a conversation point, and the moving of them."""

import sqlite3
from typing import NamedTuple

from rolellm_agents.errors import MessageError
from rolellm_agents.transcript import rows
from rolellm_agents.transcript.conversations import MAIN, Conversations

_PLACES = """
SELECT place.name, place.head, message.id AS head_id, place.newest, place.after, place.moved
FROM (SELECT said.name, said.number, said.newest, move.number AS moved, move.after,
             CASE WHEN move.number IS NULL OR said.newest > move.after THEN said.newest
                  ELSE move.head END AS head
      FROM (SELECT branch.number, branch.name,
                   (SELECT max(number) FROM message WHERE message.branch = branch.number) AS newest
            FROM branch JOIN conversation ON conversation.number = branch.conversation
            WHERE conversation.id = :conversation) said
      LEFT JOIN move ON move.number = (SELECT max(number) FROM move WHERE move.branch = said.number)) place
LEFT JOIN message ON message.number = place.head
ORDER BY place.number
"""


class BranchPosition(NamedTuple):
    """Where a branch points."""

    name: str
    head: int | None
    """The message's number."""
    head_id: str | None
    since: tuple[int, int]
    """Later for a branch that was moved later."""


class Branches(Conversations):
    """What can be asked and said about branches."""

    def branches(self, conversation: str) -> dict[str, str | None]:
        """Each branch's name and the message it points to, in the order in which they were made."""
        return {place.name: place.head_id for place in self._places(conversation)}

    def latest_branch(self, conversation: str) -> str:
        """The branch that was moved last: where somebody who comes back goes on."""
        places = self._places(conversation)
        return max(places, key=lambda place: place.since).name if places else MAIN

    def move_branch(self, conversation: str, message: str | None, branch: str = MAIN) -> None:
        """Let a branch, new or not, point to a message; None is before the first one.

        Raises:
            MessageError: there is no such message in the conversation.
        """
        with self._writing() as db:
            number = self._conversation_number(conversation)
            head = self._message_number(conversation, message)
            rows.insert_move(db, rows.branch_number(db, number, branch), head)

    def _places(self, conversation: str) -> list[BranchPosition]:
        return [_as_place(row) for row in self._rows(_PLACES, {"conversation": conversation})]

    def _message_number(self, conversation: str, message: str | None) -> int | None:
        """The number of a message of this conversation."""
        if message is None:
            return None
        for (number,) in self._db.execute(
            """
            SELECT message.number FROM message
            JOIN branch ON branch.number = message.branch
            JOIN conversation ON conversation.number = branch.conversation
            WHERE message.id = ? AND conversation.id = ?
            """,
            (rows.id_bytes(message), conversation),
        ):
            found: int = number
            return found
        raise MessageError(f"There is no message {message!r} in conversation {conversation!r}.")


def _as_place(row: sqlite3.Row) -> BranchPosition:
    said, moved = row["newest"], row["moved"]
    if moved is not None and row["after"] >= (said or 0):
        since = (row["after"], moved)
    else:
        since = (-1, 0) if said is None else (said, 0)
    return BranchPosition(row["name"], row["head"], row["head_id"].hex() if row["head_id"] else None, since)

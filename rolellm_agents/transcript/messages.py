"""Messages: said, written piece by piece, and read again."""

import secrets
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from rolellm_agents.errors import MessageError
from rolellm_agents.transcript import rows
from rolellm_agents.transcript.branches import Branches
from rolellm_agents.transcript.conversations import MAIN
from rolellm_agents.transcript.message import Ending, Kind, Message
from rolellm_agents.transcript.packing import to_milliseconds


class Messages(Branches):
    """What can be asked and said about messages."""

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
        with self._writing(durable=False) as db:
            id_, number = self._insert(conversation, parent, branch, speaker, audience, kind, made_by)
            rows.end_message(
                db, number, text=text, status="complete", made_by=made_by or {}, usage=None, took=None
            )
        return self.message(id_)

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
            return self._insert(conversation, parent, branch, speaker, audience, kind, made_by)[0]

    def add_piece(self, message: str, text: str) -> None:
        """Add words to a message that has begun.

        Raises:
            MessageError: there is no such message, or it has ended.
        """
        with self._writing(durable=False) as db:
            rows.insert_piece(db, self._begun_number(message), text)

    def end(
        self,
        message: str,
        text: str,
        status: Ending,
        usage: Mapping[str, Any] | None = None,
        made_by: Mapping[str, Any] | None = None,
        *,
        kind: Kind | None = None,
    ) -> Message:
        """Give a message that has begun its final words; its pieces are no longer needed.

        This, and with it all that was written before, is on the disk when it returns.

        Args:
            message: its id.
            text: all its words.
            status: how it ended.
            usage: token counts as the model told them.
            made_by: what is known of its making only now; added to what `begin` was told.
            kind: what it turned out to be; those who witnessed it stay the same.

        Raises:
            MessageError: there is no such message, or it has ended.
        """
        with self._writing() as db:
            number = self._begun_number(message)
            begun = self.message(message)
            rows.end_message(
                db,
                number,
                text=text,
                status=status,
                made_by={**begun.made_by, **(made_by or {})},
                usage=usage,
                took=rows.now() - to_milliseconds(begun.created),
                turn_kind=rows.turn_kind_number(db, begun.speaker, begun.audience, kind) if kind else None,
            )
            db.execute("DELETE FROM piece WHERE message = ?", (number,))
        return self.message(message)

    def message(self, message: str) -> Message:
        """One message.

        Raises:
            MessageError: there is none with this id.
        """
        for found in self._messages("WHERE m.id = :id", {"id": rows.id_bytes(message)}):
            return found
        raise MessageError(f"There is no message {message!r}.")

    def siblings(self, message: str) -> list[Message]:
        """A message and its swipes, oldest first: all that follow the same parent."""
        return self._messages(
            """
            JOIN message one ON one.id = :id
            JOIN branch its ON its.number = one.branch
            JOIN branch beside ON beside.conversation = its.conversation
            WHERE m.parent IS one.parent AND m.branch = beside.number
            """,
            {"id": rows.id_bytes(message)},
        )

    def children(self, message: str) -> list[Message]:
        """What follows a message directly, oldest first: one for each swipe or branch."""
        return self._messages("WHERE parent.id = :id", {"id": rows.id_bytes(message)})

    def path(self, conversation: str, branch: str = MAIN) -> list[Message]:
        """The messages from the first to the one the branch points to."""
        heads = {place.name: place.head for place in self._places(conversation)}
        return self._path_up_from(heads.get(branch))

    def path_to(self, message: str) -> list[Message]:
        """The messages from the first to this one.

        Raises:
            MessageError: there is no such message.
        """
        return self._path_up_from(self._number(message))

    def path_through(self, message: str) -> list[Message]:
        """The messages from the first to this one, and on along what was said last after it.

        Raises:
            MessageError: there is no such message.
        """
        ways = self._rows(
            """
            WITH RECURSIVE way (number) AS (
                VALUES (:number)
                UNION ALL
                SELECT (SELECT max(next.number) FROM message next WHERE next.parent = way.number)
                FROM way WHERE way.number IS NOT NULL)
            SELECT max(number) AS last FROM way
            """,
            {"number": self._number(message)},
        )
        return self._path_up_from(ways[0]["last"])

    def _number(self, message: str) -> int:
        for row in self._rows("SELECT number FROM message WHERE id = :id", {"id": rows.id_bytes(message)}):
            found: int = row["number"]
            return found
        raise MessageError(f"There is no message {message!r}.")

    def _path_up_from(self, head: int | None) -> list[Message]:
        return self._messages(
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

    def messages(self, conversation: str) -> list[Message]:
        """The whole tree, in the order in which it was said."""
        return self._messages("WHERE conversation.id = :conversation", {"conversation": conversation})

    def _messages(self, which: str, values: Mapping[str, Any]) -> list[Message]:
        """Those messages, in the order in which they were said, which is that of every path too."""
        found = self._rows(f"{rows.MESSAGES} {which}", values)
        # Not by SQLite, which would carry all the words through its sorting.
        found.sort(key=itemgetter(0))
        return [rows.as_message(row) for row in found]

    def _begun_number(self, message: str) -> int:
        """The number of a message that is being written."""
        for number, status in self._db.execute(
            "SELECT number, status FROM message WHERE id = ?", (rows.id_bytes(message),)
        ):
            if status is not None:
                raise MessageError(f"The message {message!r} has ended; nothing can be added to it.")
            found: int = number
            return found
        raise MessageError(f"There is no message {message!r}.")

    def _insert(
        self,
        conversation: str,
        parent: str | None,
        branch: str,
        speaker: str,
        audience: Sequence[str],
        kind: Kind,
        made_by: Mapping[str, Any] | None,
    ) -> tuple[str, int]:
        """Add a message that has not ended; returns its id and its number."""
        conversation_number = self._conversation_number(conversation)
        id_ = secrets.token_hex(8)
        number = rows.insert_message(
            self._db,
            id_=id_,
            branch=rows.branch_number(self._db, conversation_number, branch),
            parent=self._message_number(conversation, parent),
            speaker=speaker,
            audience=audience,
            kind=kind,
            made_by=made_by or {},
            created=rows.now(),
        )
        return id_, number

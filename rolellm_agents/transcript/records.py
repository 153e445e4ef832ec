"""Whole conversations, out of the transcript and into it."""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from rolellm_agents.errors import MessageError
from rolellm_agents.transcript import rows
from rolellm_agents.transcript.message import ConversationRecord, Message
from rolellm_agents.transcript.messages import Messages
from rolellm_agents.transcript.packing import to_milliseconds


class Records(Messages):
    """What can be asked and said about all of a conversation at once."""

    def record(self, conversation: str) -> ConversationRecord:
        """A conversation with all that belongs to it, as it is at one moment.

        Args:
            conversation: its id, or the beginning of it that no other shares.

        Raises:
            MessageError: there is none, or there are several.
        """
        with self._reading():
            summary = self.find_conversation(conversation)
            return ConversationRecord(
                persona=summary.persona,
                created=summary.created,
                title=summary.title,
                archived=summary.archived,
                extensions=self.extensions(summary.id),
                messages=tuple(self.messages(summary.id)),
                branches=self.branches(summary.id),
                branch=self.latest_branch(summary.id),
            )

    def add_record(self, record: ConversationRecord) -> str:
        """Add a conversation, all of it or nothing; it and its messages get new ids.

        Returns:
            Its id.

        Raises:
            MessageError: a message or a branch names a message that does not come before it.
            ValueError: a time is not in ISO 8601.
        """
        id_ = secrets.token_hex(4)
        with self._writing() as db:
            number = rows.insert_conversation(
                db, id_, record.persona, to_milliseconds(record.created), record.extensions
            )
            names = list(dict.fromkeys((*record.branches, record.branch)))
            branches = {name: rows.branch_number(db, number, name) for name in names}
            numbers = self._add_messages(branches[record.branch], record.messages)
            # The one that was moved last is where somebody who comes back goes on.
            for name in sorted(names, key=lambda name: name == record.branch):
                head = record.branches.get(name)
                rows.insert_move(db, branches[name], _known(numbers, head))
            if record.title:
                rows.insert_title(db, number, record.title)
            if record.archived:
                rows.insert_archiving(db, number, archived=True)
        return id_

    def _add_messages(self, branch: int, messages: Sequence[Message]) -> dict[str, int]:
        """Returns each message's number by the id it had in the record."""
        numbers: dict[str, int] = {}
        ids: dict[str, str] = {}
        for message in messages:
            ids[message.id] = secrets.token_hex(8)
            made_by = _with_new_ids(message.made_by, ids)
            numbers[message.id] = rows.insert_message(
                self._db,
                id_=ids[message.id],
                branch=branch,
                parent=_known(numbers, message.parent),
                speaker=message.speaker,
                audience=message.audience,
                kind=message.kind,
                made_by=made_by,
                created=to_milliseconds(message.created),
            )
            if message.status == "cut":
                rows.insert_piece(self._db, numbers[message.id], message.text)
            else:
                rows.end_message(
                    self._db,
                    numbers[message.id],
                    text=message.text,
                    status=message.status,
                    made_by=made_by,
                    usage=message.usage,
                    took=None,
                )
        return numbers


def _known(numbers: Mapping[str, int], message: str | None) -> int | None:
    if message is None:
        return None
    if message not in numbers:
        raise MessageError(f"There is no message {message!r} before the one that names it.")
    return numbers[message]


def _with_new_ids(made_by: Mapping[str, Any], ids: Mapping[str, str]) -> Mapping[str, Any]:
    """What a message was edited from has another id now."""
    edited = made_by.get("edited")
    return {**made_by, "edited": ids[edited]} if isinstance(edited, str) and edited in ids else made_by

"""Reading and adding complete conversations, inside the caller's transaction."""

import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from rolellm_agents.errors import MessageError
from rolellm_agents.transcript.branches import branch_number, insert_move, latest_of, read_positions
from rolellm_agents.transcript.conversations import (
    find_conversation,
    insert_archiving,
    insert_conversation,
    insert_title,
    read_extensions,
)
from rolellm_agents.transcript.message import ConversationRecord, Message
from rolellm_agents.transcript.messages import end_message, insert_message, insert_piece, read_tree
from rolellm_agents.transcript.times import to_milliseconds


def read_record(db: sqlite3.Connection, conversation: str) -> ConversationRecord:
    """Read a complete conversation.

    Raises:
        MessageError: no conversation matches, or several do.
    """
    summary = find_conversation(db, conversation)
    positions = read_positions(db, summary.id)
    return ConversationRecord(
        persona=summary.persona,
        created=summary.created,
        title=summary.title,
        archived=summary.archived,
        extensions=read_extensions(db, summary.id),
        messages=tuple(read_tree(db, summary.id)),
        branches={position.name: position.head_id for position in positions},
        branch=latest_of(positions),
    )


def insert_record(db: sqlite3.Connection, record: ConversationRecord) -> str:
    """Add a conversation, and return its new id.

    Raises:
        MessageError: a message or a branch refers to a message that does not precede it.
        ValueError: a time is not in ISO 8601 format.
    """
    id_ = secrets.token_hex(4)
    number = insert_conversation(
        db, id_, record.persona, to_milliseconds(record.created), record.extensions
    )
    names = list(dict.fromkeys((*record.branches, record.branch)))
    branches = {name: branch_number(db, number, name) for name in names}
    numbers = _insert_messages(db, branches[record.branch], record.messages)
    # The branch that is moved last is the one on which the conversation continues.
    for name in sorted(names, key=lambda name: name == record.branch):
        insert_move(db, branches[name], _known(numbers, record.branches.get(name)))
    if record.title:
        insert_title(db, number, record.title)
    if record.archived:
        insert_archiving(db, number, archived=True)
    return id_


def _insert_messages(db: sqlite3.Connection, branch: int, messages: Sequence[Message]) -> dict[str, int]:
    """Add the messages, and return their numbers by their ids in the record."""
    numbers: dict[str, int] = {}
    ids: dict[str, str] = {}
    for message in messages:
        ids[message.id] = secrets.token_hex(8)
        made_by = _with_new_ids(message.made_by, ids)
        number = numbers[message.id] = insert_message(
            db,
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
            insert_piece(db, number, message.text)
        else:
            end_message(
                db,
                number,
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
    """Translate the id of the message that this one was edited from."""
    edited = made_by.get("edited")
    return {**made_by, "edited": ids[edited]} if isinstance(edited, str) and edited in ids else made_by

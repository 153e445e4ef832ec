"""`Transcript`: read and append; nothing said is ever overwritten.

Any number of processes may hold the same file: SQLite's write-ahead log lets them read while one
writes. Within a process the threads take turns. Whatever was written survives the end of the process,
however it ends; a power cut may take what came after the last finished answer, since only the end of an
answer waits for the disk.
"""

import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from rolellm_agents.transcript.branches import (
    MAIN,
    branch_number,
    insert_move,
    latest_of,
    number_in_conversation,
    read_positions,
)
from rolellm_agents.transcript.conversations import (
    conversation_number,
    find_conversation,
    insert_archiving,
    insert_conversation,
    insert_note,
    insert_title,
    list_conversations,
    read_draft,
    read_extensions,
    read_note,
    read_titles,
    write_draft,
)
from rolellm_agents.transcript.database import Database
from rolellm_agents.transcript.message import (
    ConversationRecord,
    ConversationSummary,
    Ending,
    FoundMessage,
    Kind,
    Message,
)
from rolellm_agents.transcript.messages import (
    change_kind,
    delete_pieces,
    end_message,
    insert_message,
    insert_piece,
    latest_after,
    message_number,
    read_children,
    read_message,
    read_path,
    read_siblings,
    read_tree,
    unfinished_number,
)
from rolellm_agents.transcript.records import insert_record, read_record
from rolellm_agents.transcript.searching import search_messages
from rolellm_agents.transcript.times import now, to_milliseconds

__all__ = ["MAIN", "Transcript"]


class Transcript:
    """All conversations of one data folder.

    Each method is one transaction over the rows of the modules beside this one.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Open the file, or make it; without a path everything stays in memory.

        Raises:
            StorageError: it cannot be opened, is no transcript, or comes from a newer version.
        """
        self._database = Database(path)

    def close(self) -> None:
        """Close the file; safe to call twice."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Conversations

    def create_conversation(self, persona: str, extensions: Mapping[str, Any] | None = None) -> str:
        """Begin a conversation with a persona; returns its id.

        Args:
            persona: its id.
            extensions: what an imported file told of it and we do not use.
        """
        id_ = secrets.token_hex(4)
        with self._database.writing(durable=False) as db:
            number = insert_conversation(db, id_, persona, now(), extensions or {})
            branch_number(db, number, MAIN)
        return id_

    def conversations(
        self, persona: str | None = None, *, archived: bool = False
    ) -> list[ConversationSummary]:
        """All conversations in which something was said, the latest first.

        Args:
            persona: only those with this one.
            archived: those that were put away, instead of those that were not.
        """
        with self._database.reading() as db:
            return list_conversations(db, persona, archived=archived)

    def find_conversation(self, reference: str) -> ConversationSummary:
        """A conversation, put away or not, by its id or the beginning of it that no other shares.

        Raises:
            MessageError: there is none, or there are several.
        """
        with self._database.reading() as db:
            return find_conversation(db, reference)

    def extensions(self, conversation: str) -> dict[str, Any]:
        """What an imported file told of a conversation and we do not use."""
        with self._database.reading() as db:
            return read_extensions(db, conversation)

    def rename(self, conversation: str, title: str) -> None:
        """Give a conversation a title; an empty one takes it away.

        Raises:
            MessageError: there is no such conversation.
        """
        with self._database.writing() as db:
            insert_title(db, conversation_number(db, conversation), title)

    def titles(self, conversation: str) -> list[str]:
        """All titles a conversation ever had, the newest last: the one before undoes a `rename`."""
        with self._database.reading() as db:
            return read_titles(db, conversation)

    def archive(self, conversation: str) -> None:
        """Put a conversation away: it is not listed, but found.

        Raises:
            MessageError: there is no such conversation.
        """
        with self._database.writing() as db:
            insert_archiving(db, conversation_number(db, conversation), archived=True)

    def unarchive(self, conversation: str) -> None:
        """Take a conversation out again.

        Raises:
            MessageError: there is no such conversation.
        """
        with self._database.writing() as db:
            insert_archiving(db, conversation_number(db, conversation), archived=False)

    def set_note(self, conversation: str, text: str) -> None:
        """Give a conversation an author's note; an empty one takes it away.

        Raises:
            MessageError: there is no such conversation.
        """
        with self._database.writing() as db:
            insert_note(db, conversation_number(db, conversation), text)

    def note(self, conversation: str) -> str:
        """A conversation's author's note; empty when it has none."""
        with self._database.reading() as db:
            return read_note(db, conversation)

    def keep_draft(self, key: str, text: str) -> None:
        """Remember what the person is typing, in place of what they typed before; an empty text forgets it.

        Args:
            key: a conversation's id; before there is one, the persona's.
            text: the unsent line.
        """
        with self._database.writing(durable=False) as db:
            write_draft(db, key, text)

    def draft(self, key: str) -> str:
        """What the person was typing there; empty when there is nothing."""
        with self._database.reading() as db:
            return read_draft(db, key)

    # Branches

    def branches(self, conversation: str) -> dict[str, str | None]:
        """Each branch's name and the message it points to, in the order in which they were made."""
        with self._database.reading() as db:
            return {position.name: position.head_id for position in read_positions(db, conversation)}

    def latest_branch(self, conversation: str) -> str:
        """The branch that was moved last: where somebody who comes back goes on."""
        with self._database.reading() as db:
            return latest_of(read_positions(db, conversation))

    def move_branch(self, conversation: str, message: str | None, branch: str = MAIN) -> None:
        """Let a branch, new or not, point to a message; None is before the first one.

        Raises:
            MessageError: there is no such message in the conversation.
        """
        with self._database.writing() as db:
            number = conversation_number(db, conversation)
            head = number_in_conversation(db, conversation, message)
            insert_move(db, branch_number(db, number, branch), head)

    # Messages

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
        with self._database.writing(durable=False) as db:
            id_, number = _start_message(db, conversation, parent, branch, speaker, audience, kind, made_by)
            end_message(
                db, number, text=text, status="complete", made_by=made_by or {}, usage=None, took=None
            )
            return read_message(db, id_)

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
        with self._database.writing(durable=False) as db:
            return _start_message(db, conversation, parent, branch, speaker, audience, kind, made_by)[0]

    def add_piece(self, message: str, text: str) -> None:
        """Add words to a message that has begun.

        Raises:
            MessageError: there is no such message, or it has ended.
        """
        with self._database.writing(durable=False) as db:
            insert_piece(db, unfinished_number(db, message), text)

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
        with self._database.writing() as db:
            number = unfinished_number(db, message)
            started = read_message(db, message)
            if kind:
                change_kind(db, number, started, kind)
            end_message(
                db,
                number,
                text=text,
                status=status,
                made_by={**started.made_by, **(made_by or {})},
                usage=usage,
                took=now() - to_milliseconds(started.created),
            )
            delete_pieces(db, number)
            return read_message(db, message)

    def message(self, message: str) -> Message:
        """One message.

        Raises:
            MessageError: there is none with this id.
        """
        with self._database.reading() as db:
            return read_message(db, message)

    def siblings(self, message: str) -> list[Message]:
        """A message and its swipes, oldest first: all that follow the same parent."""
        with self._database.reading() as db:
            return read_siblings(db, message)

    def children(self, message: str) -> list[Message]:
        """What follows a message directly, oldest first: one for each swipe or branch."""
        with self._database.reading() as db:
            return read_children(db, message)

    def path(self, conversation: str, branch: str = MAIN) -> list[Message]:
        """The messages from the first to the one the branch points to."""
        with self._database.snapshot() as db:
            heads = {position.name: position.head for position in read_positions(db, conversation)}
            return read_path(db, heads.get(branch))

    def path_to(self, message: str) -> list[Message]:
        """The messages from the first to this one.

        Raises:
            MessageError: there is no such message.
        """
        with self._database.snapshot() as db:
            return read_path(db, message_number(db, message))

    def path_through(self, message: str) -> list[Message]:
        """The messages from the first to this one, and on along what was said last after it.

        Raises:
            MessageError: there is no such message.
        """
        with self._database.snapshot() as db:
            return read_path(db, latest_after(db, message_number(db, message)))

    def messages(self, conversation: str) -> list[Message]:
        """The whole tree, in the order in which it was said."""
        with self._database.reading() as db:
            return read_tree(db, conversation)

    # Records and search

    def record(self, conversation: str) -> ConversationRecord:
        """A conversation with all that belongs to it, as it is at one moment.

        Args:
            conversation: its id, or the beginning of it that no other shares.

        Raises:
            MessageError: there is none, or there are several.
        """
        with self._database.snapshot() as db:
            return read_record(db, conversation)

    def add_record(self, record: ConversationRecord) -> str:
        """Add a conversation, all of it or nothing; it and its messages get new ids.

        Returns:
            Its id.

        Raises:
            MessageError: a message or a branch names a message that does not come before it.
            ValueError: a time is not in ISO 8601.
        """
        with self._database.writing() as db:
            return insert_record(db, record)

    def search(self, query: str, *, persona: str | None = None, limit: int = 50) -> list[FoundMessage]:
        """Messages in which all that is sought stands, the newest first.

        Args:
            query: words, "quoted phrases", and beginnings*; case and accents make no difference, and of
                Chinese and the like every part of a sentence can be sought. Signs alone find nothing.
            persona: only in conversations with this one.
            limit: the most messages to find.

        Raises:
            MessageError: the query is too long.
        """
        with self._database.reading() as db:
            return search_messages(db, query, persona=persona, limit=limit)


def _start_message(
    db: sqlite3.Connection,
    conversation: str,
    parent: str | None,
    branch: str,
    speaker: str,
    audience: Sequence[str],
    kind: Kind,
    made_by: Mapping[str, Any] | None,
) -> tuple[str, int]:
    """Add a message that has not ended; returns its id and its number."""
    id_ = secrets.token_hex(8)
    number = insert_message(
        db,
        id_=id_,
        branch=branch_number(db, conversation_number(db, conversation), branch),
        parent=number_in_conversation(db, conversation, parent),
        speaker=speaker,
        audience=audience,
        kind=kind,
        made_by=made_by or {},
        created=now(),
    )
    return id_, number

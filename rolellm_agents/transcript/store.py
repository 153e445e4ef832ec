"""`Transcript`: reads and appends messages, and never overwrites them. What is deleted goes through a bin.

Any number of processes may open the same file: SQLite's write-ahead log lets them read while one of them
writes. Within a process, threads take turns. Everything written survives a crash of the process. A power
failure may lose the answer in progress: only complete messages wait for the disk.
"""

import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from rolellm_agents.transcript.bin import (
    bin_branch,
    bin_conversations,
    bin_message,
    bin_persona,
    conversations_of,
    find_in_bin,
    list_bin,
    measure_branch,
    measure_conversations,
    measure_message,
    take_back,
)
from rolellm_agents.transcript.branches import (
    MAIN,
    branch_number,
    insert_move,
    latest_of,
    number_in_conversation,
    read_positions,
)
from rolellm_agents.transcript.conversations import (
    conversation_exists,
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
from rolellm_agents.transcript.database import Database, open_for_reading
from rolellm_agents.transcript.emptying import (
    BackgroundEmptying,
    Progress,
    empty_marked,
    mark_all,
    mark_one,
    work_left,
)
from rolellm_agents.transcript.message import (
    KINDS,
    BinEntry,
    ConversationRecord,
    ConversationSummary,
    DeletionExtent,
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
    read_written,
    unfinished_number,
)
from rolellm_agents.transcript.records import insert_record, read_record
from rolellm_agents.transcript.searching import search_messages
from rolellm_agents.transcript.summaries import insert_summary, read_summaries
from rolellm_agents.transcript.times import now, to_milliseconds

__all__ = ["MAIN", "Transcript"]


class Transcript:
    """Stores all conversations of one data folder.

    Each method is one transaction.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Open or create the file; without a path the transcript is in memory.

        Raises:
            StorageError: the file cannot be opened, is not a transcript, or comes from a newer version.
        """
        self._database = Database(path)
        self._emptying: BackgroundEmptying | None = None
        with self._database.reading() as db:
            if path is not None and work_left(db):
                self._emptying = BackgroundEmptying(path)

    @classmethod
    def for_reading(cls, path: Path) -> Self:
        """Open a file to read it, which also works in a folder without write permission.

        There, a missing file is an empty transcript.

        Raises:
            StorageError: the file cannot be read, is not a transcript, or has another format that cannot be
                converted without write permission.
        """
        transcript = cls.__new__(cls)
        transcript._database = open_for_reading(path)  # noqa: SLF001 - our own
        transcript._emptying = None  # noqa: SLF001
        return transcript

    @property
    def notice(self) -> str:
        """What the user should be told once: that the file was converted, and where its copy is."""
        return self._database.notice

    @property
    def file(self) -> Path | None:
        """The file; None in memory."""
        return self._database.path

    def close(self) -> None:
        """Close the file; further calls do nothing."""
        if self._emptying is not None:
            self._emptying.close()
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Conversations

    def create_conversation(self, persona: str, extensions: Mapping[str, Any] | None = None) -> str:
        """Create a conversation with a persona, and return its id.

        Args:
            persona: the persona's id.
            extensions: data of an imported file to keep.
        """
        id_ = secrets.token_hex(4)
        with self._database.writing(durable=False) as db:
            number = insert_conversation(db, id_, persona, now(), extensions or {})
            branch_number(db, number, MAIN)
        return id_

    def conversations(
        self, persona: str | None = None, *, archived: bool = False
    ) -> list[ConversationSummary]:
        """All conversations that have messages, the latest first.

        Args:
            persona: a persona's id, to list only its conversations.
            archived: list the archived conversations instead of the others.
        """
        with self._database.reading() as db:
            return list_conversations(db, persona, archived=archived)

    def find_conversation(self, reference: str) -> ConversationSummary:
        """Find a conversation, archived or not, by its id or a unique prefix of it.

        Raises:
            MessageError: no conversation matches, or several do.
        """
        with self._database.reading() as db:
            return find_conversation(db, reference)

    def extensions(self, conversation: str) -> dict[str, Any]:
        """Data of an imported file that this program keeps but does not use."""
        with self._database.reading() as db:
            return read_extensions(db, conversation)

    def rename(self, conversation: str, title: str) -> None:
        """Set the title of a conversation; an empty title removes it.

        Raises:
            MessageError: there is no such conversation.
        """
        with self._database.writing() as db:
            insert_title(db, conversation_number(db, conversation), title)

    def titles(self, conversation: str) -> list[str]:
        """All titles that a conversation has had, the newest last; `rename` to an earlier one to undo."""
        with self._database.reading() as db:
            return read_titles(db, conversation)

    def archive(self, conversation: str) -> None:
        """Archive a conversation: it can still be found, but is not listed by default.

        Raises:
            MessageError: there is no such conversation.
        """
        with self._database.writing() as db:
            insert_archiving(db, conversation_number(db, conversation), archived=True)

    def unarchive(self, conversation: str) -> None:
        """Unarchive a conversation.

        Raises:
            MessageError: there is no such conversation.
        """
        with self._database.writing() as db:
            insert_archiving(db, conversation_number(db, conversation), archived=False)

    def set_note(self, conversation: str, text: str) -> None:
        """Set the author's note of a conversation; an empty text removes it.

        Raises:
            MessageError: there is no such conversation.
        """
        with self._database.writing() as db:
            insert_note(db, conversation_number(db, conversation), text)

    def note(self, conversation: str) -> str:
        """The author's note of a conversation; empty when it has none."""
        with self._database.reading() as db:
            return read_note(db, conversation)

    def keep_draft(self, key: str, text: str) -> None:
        """Store the user's unsent line in place of the previous one; an empty text deletes it.

        Args:
            key: the persona's id if the conversation does not exist yet; or the conversation's.
            text: the unsent line.
        """
        with self._database.writing(durable=False) as db:
            write_draft(db, key, text)

    def keep_draft_of(self, conversation: str, text: str) -> None:
        """Store the unsent line of a conversation; nothing is stored if it was deleted forever.

        A window can still be open on such a conversation, and its text would stay behind.
        """
        with self._database.writing(durable=False) as db:
            if conversation_exists(db, conversation):
                write_draft(db, conversation, text)

    def draft(self, key: str) -> str:
        """The user's unsent line; empty when there is none."""
        with self._database.reading() as db:
            return read_draft(db, key)

    def keep_summary(self, message: str, text: str) -> None:
        """Store a summary of the conversation up to a message; an empty text removes it.

        Raises:
            MessageError: there is no such message.
        """
        with self._database.writing() as db:
            insert_summary(db, message_number(db, message), text)

    def summaries(self, conversation: str) -> dict[str, str]:
        """The summaries of a conversation by the id of the message up to which each reaches."""
        with self._database.reading() as db:
            return read_summaries(db, conversation)

    # Branches

    def branches(self, conversation: str) -> dict[str, str | None]:
        """The message id to which each branch points, by the branch's name, in the order of creation."""
        with self._database.reading() as db:
            return {position.name: position.head_id for position in read_positions(db, conversation)}

    def latest_branch(self, conversation: str) -> str:
        """The branch that was moved last, on which the conversation continues."""
        with self._database.reading() as db:
            return latest_of(read_positions(db, conversation))

    def move_branch(self, conversation: str, message: str | None, branch: str = MAIN) -> None:
        """Move a new or existing branch to a message; None is before the first message.

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
        """Add a complete message under `parent`, and move the branch to it.

        When this returns, the message and everything before it are on the disk.
        """
        if kind not in KINDS:
            self._database.admit_kinds([kind])
        with self._database.writing() as db:
            id_, number = _start_message(db, conversation, parent, branch, speaker, audience, kind, made_by)
            end_message(
                db, number, text=text, status="complete", made_by=made_by or {}, usage=None, took=None
            )
            return read_written(db, id_)

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
        """Start a message that is written in pieces, and move the branch to it.

        Returns:
            The message's id, for `add_piece` and `end`. Without `end` the message counts as cut off.
        """
        if kind not in KINDS:
            self._database.admit_kinds([kind])
        with self._database.writing(durable=False) as db:
            return _start_message(db, conversation, parent, branch, speaker, audience, kind, made_by)[0]

    def add_piece(self, message: str, text: str) -> None:
        """Add text to a message that has not ended.

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
        """End a message that was started with `begin`; its final text replaces its pieces.

        When this returns, the message and everything before it are on the disk.

        Args:
            message: the message's id.
            text: the complete text.
            status: how the message ended.
            usage: token counts as reported by the model.
            made_by: provenance to add to that of `begin`.
            kind: a new message kind; the audience stays the same.

        Raises:
            MessageError: there is no such message, or it has ended.
        """
        if kind and kind not in KINDS:
            self._database.admit_kinds([kind])
        with self._database.writing() as db:
            number = unfinished_number(db, message)
            started = read_written(db, message)
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
            return read_written(db, message)

    def message(self, message: str) -> Message:
        """The message with an id.

        Raises:
            MessageError: there is no message with this id.
        """
        with self._database.reading() as db:
            return read_message(db, message)

    def siblings(self, message: str) -> list[Message]:
        """All messages with the same parent as this one, including itself; the oldest first."""
        with self._database.reading() as db:
            return read_siblings(db, message)

    def children(self, message: str) -> list[Message]:
        """The children of a message, one for each swipe or branch; the oldest first."""
        with self._database.reading() as db:
            return read_children(db, message)

    def path(self, conversation: str, branch: str = MAIN) -> list[Message]:
        """The messages from the first one to the one to which the branch points."""
        with self._database.snapshot() as db:
            heads = {position.name: position.head for position in read_positions(db, conversation)}
            return read_path(db, heads.get(branch))

    def path_to(self, message: str) -> list[Message]:
        """The messages from the first one to this one.

        Raises:
            MessageError: there is no such message.
        """
        with self._database.snapshot() as db:
            return read_path(db, message_number(db, message))

    def path_through(self, message: str) -> list[Message]:
        """The messages from the first one to this one, continued through each newest child.

        Raises:
            MessageError: there is no such message.
        """
        with self._database.snapshot() as db:
            return read_path(db, latest_after(db, message_number(db, message)))

    def messages(self, conversation: str) -> list[Message]:
        """All messages of a conversation, in the order of creation."""
        with self._database.reading() as db:
            return read_tree(db, conversation)

    # Deleting

    def measure_message(self, message: str) -> DeletionExtent:
        """What `delete_message` would delete.

        Raises:
            MessageError: there is no such message.
        """
        with self._database.snapshot() as db:
            return measure_message(db, message)

    def delete_message(self, message: str) -> str:
        """Put a message and everything that rests on it into the bin.

        Returns:
            The deletion's id, for `take_back`.

        Raises:
            MessageError: there is no such message.
        """
        with self._database.writing() as db:
            return bin_message(db, message)

    def measure_branch(self, conversation: str, branch: str) -> DeletionExtent:
        """What `delete_branch` would delete.

        Raises:
            MessageError: there is no such branch, or no other one.
        """
        with self._database.snapshot() as db:
            return measure_branch(db, conversation, branch)

    def delete_branch(self, conversation: str, branch: str) -> str:
        """Put a branch, with the messages that no other branch shares, into the bin.

        Returns:
            The deletion's id, for `take_back`.

        Raises:
            MessageError: there is no such branch, or no other one.
        """
        with self._database.writing() as db:
            return bin_branch(db, conversation, branch)

    def measure_conversations(self, conversations: Sequence[str]) -> DeletionExtent:
        """What `delete_conversations` would delete.

        Raises:
            MessageError: there is no such conversation.
        """
        with self._database.snapshot() as db:
            return measure_conversations(db, conversations)

    def delete_conversations(self, conversations: Sequence[str]) -> str:
        """Put conversations into the bin together.

        Returns:
            The deletion's id, for `take_back`.

        Raises:
            MessageError: there is no such conversation.
        """
        with self._database.writing() as db:
            return bin_conversations(db, conversations)

    def measure_persona(self, persona: str) -> DeletionExtent:
        """What `delete_persona` would delete."""
        with self._database.snapshot() as db:
            return measure_conversations(db, conversations_of(db, persona))

    def delete_persona(self, persona: str) -> str:
        """Put all conversations with a persona, and the draft of a new one, into the bin.

        Returns:
            The deletion's id, for `take_back`.
        """
        with self._database.writing() as db:
            return bin_persona(db, persona)

    def bin(self) -> list[BinEntry]:
        """All deletions that can be taken back, the latest first."""
        with self._database.snapshot() as db:
            return list_bin(db)

    def find_in_bin(self, reference: str) -> BinEntry:
        """Find a deletion by its id or a unique prefix of it.

        Raises:
            MessageError: none matches, or several do.
        """
        with self._database.snapshot() as db:
            return find_in_bin(db, reference)

    def take_back(self, deletion: str) -> BinEntry:
        """Take a deletion back: everything is again where it was.

        Args:
            deletion: its id, or a unique prefix of it.

        Raises:
            MessageError: no deletion matches or several do, or it rests on another one in the bin.
        """
        with self._database.writing() as db:
            return take_back(db, deletion)

    def empty_bin(
        self, deletion: str | None = None, progress: Progress = lambda _done, _total: None
    ) -> bool:
        """Delete forever what is in the bin, and wipe its text from the file and its log.

        Args:
            deletion: the id of one deletion, or a unique prefix of it; by default, all of them. Deletions
                that rest on it are deleted with it.
            progress: called with the number of deleted messages, and of all.

        Returns:
            Whether no text is left; not if another process reads the log, in which case the next opening of
            the transcript goes on.

        Raises:
            MessageError: no deletion matches, or several do.
        """
        with self._database.writing() as db:
            if deletion is None:
                mark_all(db)
            else:
                mark_one(db, deletion)
        return empty_marked(self._database, progress)

    # Records and search

    def record(self, conversation: str) -> ConversationRecord:
        """A consistent snapshot of a complete conversation.

        Args:
            conversation: the conversation's id, or a unique prefix of it.

        Raises:
            MessageError: no conversation matches, or several do.
        """
        with self._database.snapshot() as db:
            return read_record(db, conversation)

    def add_record(self, record: ConversationRecord) -> str:
        """Add a conversation in one transaction; it and its messages get new ids.

        Returns:
            The conversation's new id.

        Raises:
            MessageError: a message or a branch refers to a message that does not precede it.
            ValueError: a time is not in ISO 8601 format.
        """
        self._database.admit_kinds(message.kind for message in record.messages)
        with self._database.writing() as db:
            return insert_record(db, record)

    def search(self, query: str, *, persona: str | None = None, limit: int = 50) -> list[FoundMessage]:
        """The messages that contain all words and phrases of a query, the newest first.

        Args:
            query: words, "quoted phrases" and prefixes*, regardless of case and accents. In Chinese and
                other scripts without spaces, every part of a sentence matches.
            persona: a persona's id, to search only its conversations.
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
    """Add a message that has not ended, and return its id and its number."""
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

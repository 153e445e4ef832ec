"""The position in a conversation's tree and how it moves, shared by sessions and stages."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from rolellm_agents.errors import MessageError
from rolellm_agents.transcript import DeletionExtent, Message, Transcript
from rolellm_agents.transcript.message import Kind
from rolellm_agents.transcript.store import MAIN

STILL_ANSWERING = "An answer is still being generated; stop it first, or wait for its end."


class _Step(NamedTuple):
    """A step to undo, or to redo."""

    head: str | None
    """The message to go to."""
    message: str | None = None
    """The message whose deletion is undone or redone."""
    deletion: str = ""
    """The deletion to take back."""
    of_branch: bool = False
    """Whether a branch was deleted."""


class ConversationCursor(ABC):
    """The position on one branch of a conversation. Changes are made one at a time and can be undone."""

    def __init__(self, transcript: Transcript, conversation: str | None) -> None:
        """Open a conversation at the end of its latest branch.

        Without a conversation's id, the first message creates a new conversation.

        Raises:
            MessageError: there is no such conversation.
            StorageError: the transcript cannot be read.
        """
        if conversation and not transcript.branches(conversation):
            raise MessageError(f"There is no conversation {conversation!r}.")
        self.conversation = conversation
        self._transcript = transcript
        self._branch = transcript.latest_branch(conversation) if conversation else MAIN
        self._path = transcript.path(conversation, self._branch) if conversation else []
        self._busy = False
        self._undone: list[_Step] = []
        self._done: list[_Step] = []

    @property
    def messages(self) -> Sequence[Message]:
        """The messages of this branch, oldest first."""
        return tuple(self._path)

    @property
    def answering(self) -> bool:
        """Whether an answer is being generated."""
        return self._busy

    @property
    def branch_name(self) -> str:
        """The name of the current branch."""
        return self._branch

    def tree(self) -> list[Message]:
        """All messages of this conversation, on every branch, in chronological order."""
        return self._transcript.messages(self.conversation) if self.conversation else []

    @property
    def transcript(self) -> Transcript:
        """The transcript that stores the conversation."""
        return self._transcript

    def branches(self) -> dict[str, str | None]:
        """Each branch's name and the message that it points to, oldest branch first."""
        return self._transcript.branches(self.conversation) if self.conversation else {}

    def swipes(self, message_id: str) -> list[Message]:
        """A message and its alternatives by the same speaker, oldest first.

        Raises:
            MessageError: there is no such message.
        """
        beside = self._transcript.siblings(message_id)
        speakers = [one.speaker for one in beside if one.id == message_id]
        if not speakers:
            raise MessageError(f"There is no message {message_id!r}.")
        return [one for one in beside if one.speaker == speakers[0]]

    def choose(self, message_id: str) -> None:
        """Move to a message of this conversation, and on to the latest message after it.

        Raises:
            MessageError: there is no such message, or an answer is still being generated.
        """
        with self._turn():
            path = self._transcript.path_through(message_id)
            if path[0].conversation != self.conversation:
                raise MessageError(f"There is no message {message_id!r} in this conversation.")
            self._go_to(path)

    def branch(self, message_id: str) -> str:
        """Start a new branch at a message of this branch; returns the new branch's name.

        Raises:
            MessageError: there is no such message, or an answer is still being generated.
        """
        self._check_idle()
        kept = self._path[: self._place_of(message_id) + 1]
        conversation = kept[-1].conversation
        name = _free_name(self._transcript.branches(conversation))
        self._transcript.move_branch(conversation, kept[-1].id, name)
        self._branch, self._path = name, kept
        return name

    def go_to_branch(self, name: str) -> None:
        """Switch to the end of another branch.

        Raises:
            MessageError: there is no such branch, or an answer is still being generated.
        """
        self._check_idle()
        if self.conversation is None or name not in self._transcript.branches(self.conversation):
            raise MessageError(f"There is no branch {name!r} in this conversation.")
        self._path = self._transcript.path(self.conversation, name)
        self._transcript.move_branch(self.conversation, self._head, name)
        self._branch = name
        # Undo applies to one branch only.
        self._done.clear()
        self._undone.clear()

    def measure(self, message_id: str) -> DeletionExtent:
        """What `delete` would delete, on all branches.

        Raises:
            MessageError: there is no such message in this conversation.
        """
        return self._transcript.measure_message(self._checked(message_id))

    def delete(self, message_id: str) -> None:
        """Put a message and all that follow it, on all branches, into the bin; `undo` takes them back.

        Raises:
            MessageError: there is no such message in this conversation, or an answer is still being
                generated.
        """
        self._check_idle()
        deletion, before = self._transcript.delete_message(self._checked(message_id)), self._head
        self._done.append(_Step(before, message_id, deletion))
        self._undone.clear()
        self._path = self._before(message_id)

    def measure_branch(self, name: str) -> DeletionExtent:
        """What `delete_branch` would delete.

        Raises:
            MessageError: there is no such branch, or no other one.
        """
        return self._transcript.measure_branch(self.conversation or "", name)

    def delete_branch(self, name: str) -> None:
        """Put a branch and the messages that no other branch shares into the bin; `undo` takes it back.

        After the current branch, the conversation goes on with the one that was used last.

        Raises:
            MessageError: there is no such branch or no other one, or an answer is still being generated.
        """
        self._check_idle()
        conversation = self.conversation or ""
        deletion = self._transcript.delete_branch(conversation, name)
        if name == self._branch:
            self.go_to_branch(self._transcript.latest_branch(conversation))
        self._done.append(_Step(self._head, deletion=deletion, of_branch=True))
        self._undone.clear()

    def undo(self) -> bool:
        """Undo the last change since the conversation was opened; its messages stay in the tree.

        Returns:
            Whether there was a change to undo.

        Raises:
            MessageError: an answer is still being generated, or what was deleted is not in the bin.
        """
        self._check_idle()
        if not self._done or self.conversation is None:
            return False
        step = self._done.pop()
        if step.deletion:
            self._transcript.take_back(step.deletion)
        if step.of_branch:
            # The branch may have got another name, so this cannot be redone.
            self._undone.clear()
            return True
        self._undone.append(_Step(self._head, step.message))
        self._go_to(self._path_of(step))
        return True

    def redo(self) -> bool:
        """Redo the last change that was undone, if there was no other change since.

        Raises:
            MessageError: an answer is still being generated.
        """
        self._check_idle()
        if not self._undone or self.conversation is None:
            return False
        step = self._undone.pop()
        deletion = self._transcript.delete_message(step.message) if step.message else ""
        self._done.append(_Step(self._head, step.message, deletion))
        if deletion:
            # The branch is not moved, so that it returns with what was deleted.
            self._path = self._before(step.message or "")
        else:
            self._go_to(self._path_of(step))
        return True

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Run one change at a time; `undo` returns to the position before it."""
        self._check_idle()
        before = self._head
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
            if self._head != before:
                self._done.append(_Step(before))
                self._undone.clear()

    def _check_idle(self) -> None:
        if self._busy:
            raise MessageError(STILL_ANSWERING)

    @abstractmethod
    def _begin_conversation(self) -> str:
        """Create a conversation for the first message; returns its id."""

    def _append(
        self,
        path: Sequence[Message],
        speaker: str,
        text: str,
        *,
        audience: Sequence[str],
        kind: Kind = "say",
        made_by: dict[str, Any] | None = None,
    ) -> Message:
        """Record a finished message at the end of `path`, and move to it."""
        if self.conversation is None:
            self.conversation = self._begin_conversation()
        message = self._transcript.append(
            self.conversation,
            path[-1].id if path else None,
            speaker=speaker,
            audience=audience,
            kind=kind,
            text=text,
            made_by=made_by,
            branch=self._branch,
        )
        self._path = [*path, message]
        return message

    def _place_of(self, message_id: str) -> int:
        for place, message in enumerate(self._path):
            if message.id == message_id:
                return place
        raise MessageError(f"There is no message {message_id!r} on this branch.")

    def _checked(self, message_id: str) -> str:
        if self._transcript.message(message_id).conversation != self.conversation:
            raise MessageError(f"There is no message {message_id!r} in this conversation.")
        return message_id

    def _before(self, message_id: str) -> list[Message]:
        """The messages of this branch before one of them; all of them if it is on another branch."""
        ids = [message.id for message in self._path]
        return self._path[: ids.index(message_id)] if message_id in ids else self._path

    @property
    def _head(self) -> str | None:
        return self._path[-1].id if self._path else None

    def _path_of(self, step: _Step) -> list[Message]:
        return self._transcript.path_to(step.head) if step.head else []

    def _go_to(self, path: list[Message]) -> None:
        if self.conversation is not None:
            self._transcript.move_branch(self.conversation, path[-1].id if path else None, self._branch)
        self._path = path


def _free_name(taken: Collection[str]) -> str:
    """A name for a new branch. After a branch was deleted, the number of branches can be a taken name."""
    number = len(taken) + 1
    while f"branch-{number}" in taken:
        number += 1
    return f"branch-{number}"

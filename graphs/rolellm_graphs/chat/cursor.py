"""The position in a conversation's tree and how it moves, shared by sessions and stages."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rolellm_agents.errors import MessageError
from rolellm_agents.transcript import Message, Transcript
from rolellm_agents.transcript.message import Kind
from rolellm_agents.transcript.store import MAIN

STILL_ANSWERING = "An answer is still being generated; stop it first, or wait for its end."


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
        self._undone: list[str | None] = []
        self._done: list[str | None] = []

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
        name = f"branch-{len(self._transcript.branches(conversation)) + 1}"
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

    def undo(self) -> bool:
        """Undo the last change since the conversation was opened; its messages stay in the tree.

        Returns:
            Whether there was a change to undo.

        Raises:
            MessageError: an answer is still being generated.
        """
        return self._step_back(self._done, self._undone)

    def redo(self) -> bool:
        """Redo the last change that was undone, if there was no other change since.

        Raises:
            MessageError: an answer is still being generated.
        """
        return self._step_back(self._undone, self._done)

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
                self._done.append(before)
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

    @property
    def _head(self) -> str | None:
        return self._path[-1].id if self._path else None

    def _step_back(self, steps: list[str | None], opposite: list[str | None]) -> bool:
        self._check_idle()
        if not steps or self.conversation is None:
            return False
        target = steps.pop()
        opposite.append(self._head)
        self._go_to(self._transcript.path_to(target) if target else [])
        return True

    def _go_to(self, path: list[Message]) -> None:
        if self.conversation is not None:
            self._transcript.move_branch(self.conversation, path[-1].id if path else None, self._branch)
        self._path = path

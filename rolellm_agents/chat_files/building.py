"""Build a conversation record from a sequence of messages."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from rolellm_agents.chat_files.values import MOST_MESSAGES
from rolellm_agents.errors import ChatFileError
from rolellm_agents.transcript import ConversationRecord, Kind, Message
from rolellm_agents.transcript.message import USER
from rolellm_agents.transcript.store import MAIN


class TreeBuilder:
    """Builds a conversation by appending messages with their swipes."""

    def __init__(self, persona: str, created: str | None = None, others: Iterable[str] = ()) -> None:
        """Start an empty conversation.

        `created` is ISO 8601 in UTC; now when None. `others` are the ids of further speakers, who witness
        all messages.
        """
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self.messages: list[Message] = []
        self._persona = persona
        self._created = created or now
        self._time = self._created
        self._audience = tuple(dict.fromkeys((USER, persona, *others)))
        self._head: str | None = None

    def add(
        self,
        speaker: str,
        text: str,
        *,
        kind: Kind = "say",
        created: str | None = None,
        made_by: Mapping[str, Any] | None = None,
    ) -> None:
        """Append a message."""
        self.add_swipes(speaker, [(text, created, made_by or {})], 0, kind=kind)

    def add_swipes(
        self,
        speaker: str,
        swipes: Iterable[tuple[str, str | None, Mapping[str, Any]]],
        chosen: int,
        *,
        kind: Kind = "say",
    ) -> None:
        """Append sibling messages; the next message follows the chosen one.

        Args:
            speaker: the speaker of all swipes.
            swipes: the text, time and provenance of each; the time defaults to that of the previous
                message.
            chosen: the index of the chosen swipe.
            kind: the message kind of all swipes.

        Raises:
            ChatFileError: the conversation is too long.
        """
        parent, first = self._head, len(self.messages)
        for text, created, made_by in swipes:
            if len(self.messages) == MOST_MESSAGES:
                raise ChatFileError(
                    f"The conversation is too long; at most {MOST_MESSAGES:,} messages are read."
                )
            self._time = created or self._time
            self.messages.append(
                Message(
                    id=str(len(self.messages)),
                    conversation="",
                    parent=parent,
                    speaker=speaker,
                    audience=self._audience,
                    kind=kind,
                    text=text,
                    status="complete",
                    made_by=made_by,
                    created=self._time,
                )
            )
        self._head = self.messages[first + chosen].id

    def record(self, extensions: Mapping[str, Any]) -> ConversationRecord:
        """The record of the conversation.

        Raises:
            ChatFileError: the conversation is empty.
        """
        if not self.messages:
            raise ChatFileError("The conversation holds no message; there is nothing to import.")
        return ConversationRecord(
            persona=self._persona,
            created=self._created,
            extensions=extensions,
            messages=tuple(self.messages),
            branches={MAIN: self._head},
            branch=MAIN,
        )

"""What a transcript holds, as it is handed out: plain, frozen values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

USER = "user"
"""The speaker id of the person at the keyboard."""

Kind = Literal["say", "whisper", "think", "act", "narrate", "join", "leave"]
"""What a message is: words aloud, to few or to oneself, a deed, a narrator's line, a coming, a going."""

Ending = Literal["complete", "stopped", "failed"]
"""Ended by itself; by the person; by an error."""

Status = Literal[Ending, "cut"]
"""How it ended; or cut: the process died, or is still writing."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """One node of a conversation's tree."""

    id: str
    conversation: str
    parent: str | None
    """The message it answers or follows; None for a first one. Siblings are swipes of each other."""
    speaker: str
    """A persona's id, or `USER`."""
    audience: tuple[str, ...]
    """Who witnessed it, the speaker among them."""
    kind: Kind
    text: str
    status: Status
    made_by: Mapping[str, Any] = field(default_factory=dict)
    """For an answer: `model`, `strategy`, `prompt` (a hash of the very messages sent), `seed`, …"""
    usage: Mapping[str, Any] | None = None
    """Token counts as the model told them."""
    created: str
    """ISO 8601 in UTC."""

    @property
    def ending(self) -> str:
        """How it ended, in words for a person; empty when it simply ended."""
        if self.status == "complete":
            return "reached its token limit" if self.made_by.get("finish_reason") == "length" else ""
        return "cut off by an error" if self.status == "failed" else "cut off"


@dataclass(frozen=True, kw_only=True)
class ConversationSummary:
    """One line of the list of conversations."""

    id: str
    persona: str
    title: str
    """As the person named it; empty when they did not."""
    archived: bool
    """Whether the person put it away."""
    created: str
    updated: str
    """When something was last said; ISO 8601 in UTC."""
    messages: int
    """In the whole tree, with swipes and branches."""
    last: str
    """The newest message's text, shortened."""


@dataclass(frozen=True, kw_only=True)
class FoundMessage:
    """A message in which all that was sought stands."""

    conversation: str
    message: str
    """Its id."""
    persona: str
    title: str
    """Of the conversation; empty when it has none."""
    speaker: str
    created: str
    """ISO 8601 in UTC."""
    snippet: str
    """The words around the first hit, in one line that is safe to show."""
    hits: tuple[tuple[int, int], ...]
    """Where in the snippet the hits stand: first character and the one after the last; in order, apart."""


@dataclass(frozen=True, kw_only=True)
class ConversationRecord:
    """A conversation with all that belongs to it: what goes into a file and comes out of one."""

    persona: str
    created: str
    """ISO 8601 in UTC."""
    title: str = ""
    archived: bool = False
    extensions: Mapping[str, Any] = field(default_factory=dict)
    """What an imported file told of it and we do not use."""
    messages: tuple[Message, ...]
    """The tree, each message after the one it follows. Ids need only differ from each other."""
    branches: Mapping[str, str | None]
    """Each branch's name and the message it points to, in the order in which they were made."""
    branch: str
    """Where somebody who comes back goes on."""

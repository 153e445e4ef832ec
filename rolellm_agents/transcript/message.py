"""Messages, conversations and search results of a transcript, as frozen values."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

USER = "user"
"""The speaker id of the user."""

Kind = str
"""The name of a message kind: one of `KINDS`, or a kind of the user's or another package's."""

KINDS: Final[tuple[Kind, ...]] = ("say", "whisper", "think", "act", "narrate", "join", "leave")
"""Our message kinds: speech, whisper, thought, action, narration, a speaker's arrival, a departure."""

_KIND_NAME = re.compile(r"(?=.{1,40}\Z)[a-z][a-z0-9]*(?:-[a-z0-9]+)*")


def is_kind_name(name: str) -> bool:
    """Whether a message kind can have this name: at most 40 small letters, digits and hyphens."""
    return bool(_KIND_NAME.fullmatch(name))


Ending = Literal["complete", "stopped", "failed"]
"""How a message ended: by itself, stopped by the user, or by an error."""

Status = Literal[Ending, "cut"]
"""How a message ended; `cut` if the process died or is still writing."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """One node of a conversation's tree."""

    id: str
    conversation: str
    parent: str | None
    """The id of the previous message; None for a first message. Siblings are swipes of each other."""
    speaker: str
    """A persona's id, or `USER`."""
    audience: tuple[str, ...]
    """The speakers who witnessed it, including its own."""
    kind: Kind
    text: str
    status: Status
    made_by: Mapping[str, Any] = field(default_factory=dict)
    """Provenance of an answer: `model`, `strategy`, `prompt` (a hash of the messages sent), `seed`,
    `reasoning_content` (what a model that reasons has thought), …"""
    usage: Mapping[str, Any] | None = None
    """Token counts as reported by the model."""
    created: str
    """ISO 8601 in UTC."""

    @property
    def ending(self) -> str:
        """A description of how the message ended, for display; empty if it is complete."""
        if self.status == "complete":
            return "reached its token limit" if self.made_by.get("finish_reason") == "length" else ""
        return "cut off by an error" if self.status == "failed" else "cut off"


@dataclass(frozen=True, kw_only=True)
class ConversationSummary:
    """A conversation in the list of conversations."""

    id: str
    persona: str
    title: str
    """The title that the user set; empty without one."""
    archived: bool
    """Whether the user archived it."""
    created: str
    updated: str
    """The time of the newest message; ISO 8601 in UTC."""
    messages: int
    """Number of messages in the whole tree, with swipes and branches."""
    last: str
    """The text of the newest message, shortened."""


@dataclass(frozen=True, kw_only=True)
class FoundMessage:
    """A message that contains all words and phrases of a query."""

    conversation: str
    message: str
    """The message's id."""
    persona: str
    title: str
    """The conversation's title; empty without one."""
    speaker: str
    created: str
    """ISO 8601 in UTC."""
    snippet: str
    """The text around the first hit, in one line without control characters."""
    hits: tuple[tuple[int, int], ...]
    """Start and end indices of the hits in the snippet, sorted, without overlaps."""


Deletable = Literal["message", "branch", "conversation", "persona"]
"""What can be deleted."""


@dataclass(frozen=True, kw_only=True)
class DeletionExtent:
    """How much a deletion takes."""

    messages: int
    """Number of messages, with swipes and everything that rests on them."""
    conversations: int = 0
    """Number of complete conversations."""


@dataclass(frozen=True, kw_only=True)
class BinEntry:
    """A deletion that can be taken back."""

    id: str
    kind: Deletable
    persona: str
    """The persona's id."""
    conversation: str | None
    """The conversation's id; None for everything of a persona."""
    title: str
    """The conversation's title; empty without one."""
    branch: str
    """The name of a deleted branch; else empty."""
    conversations: int
    """Number of complete conversations."""
    messages: int
    deleted: str
    """ISO 8601 in UTC."""
    days_left: int
    """Days until it is deleted forever."""


@dataclass(frozen=True, kw_only=True)
class ConversationRecord:
    """A complete conversation, for export and import."""

    persona: str
    created: str
    """ISO 8601 in UTC."""
    title: str = ""
    archived: bool = False
    extensions: Mapping[str, Any] = field(default_factory=dict)
    """Data of an imported file that this program keeps but does not use."""
    messages: tuple[Message, ...]
    """The tree; parents precede their children. Ids must be unique within the record."""
    branches: Mapping[str, str | None]
    """The message id to which each branch points, by the branch's name, in the order of creation."""
    branch: str
    """The branch on which the conversation continues."""

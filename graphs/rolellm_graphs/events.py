"""What a session tells a front end, in the order in which it happens."""

from dataclasses import dataclass

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.recall import RecalledItem
from rolellm_agents.transcript import Message


@dataclass(frozen=True, kw_only=True)
class Recalled:
    """What was looked up for the line that is being answered."""

    items: tuple[RecalledItem, ...]


@dataclass(frozen=True, kw_only=True)
class TokenDelta:
    """The next words of an answer; they are in the transcript already."""

    message: str
    """The answer's id."""
    text: str


@dataclass(frozen=True, kw_only=True)
class MessageDone:
    """A message has ended and is in the transcript: the person's line, or an answer."""

    message: Message


@dataclass(frozen=True, kw_only=True)
class TurnFailed:
    """No answer, or only a part of one; the person's line is kept, and can be answered again."""

    error: RoleLLMError
    message: Message | None
    """The part, if there is one."""


Event = Recalled | TokenDelta | MessageDone | TurnFailed

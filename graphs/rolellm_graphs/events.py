"""What a session tells a front end, in the order in which it happens."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.recall import RecalledItem
from rolellm_agents.transcript import Message
from rolellm_graphs.role.prompt_parts import PromptPart


@dataclass(frozen=True, kw_only=True)
class Recalled:
    """What was looked up for the line that is being answered."""

    items: tuple[RecalledItem, ...]


@dataclass(frozen=True, kw_only=True)
class Prompted:
    """What the model is sent: the very messages, not another rendering of them."""

    parts: tuple[PromptPart, ...]
    model: str
    """As the transcript calls it."""
    strategy: str
    sampling: Mapping[str, Any]
    """The model's settings, as far as they are known."""


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


Event = Recalled | Prompted | TokenDelta | MessageDone | TurnFailed
"""What a session tells while a persona answers."""


@dataclass(frozen=True, kw_only=True)
class SpeakerChosen:
    """Whose turn it is in a scene."""

    seat: str
    why: str
    """In a few words."""


@dataclass(frozen=True, kw_only=True)
class Retried:
    """A model's answer must not stand and is given again; it is kept beside the next one."""

    message: Message | None
    """The answer; None when there was no word of it."""
    fault: str


@dataclass(frozen=True, kw_only=True)
class YourTurn:
    """The scene waits for a person."""

    seat: str | None
    """Who is to speak; None when somebody must say who is."""
    why: str


@dataclass(frozen=True, kw_only=True)
class SceneEnded:
    """The scene is over; it can be played on all the same."""

    why: str


SceneEvent = Event | SpeakerChosen | Retried | YourTurn | SceneEnded
"""What a stage tells while a scene is played."""

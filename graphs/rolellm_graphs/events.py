"""The events that sessions and stages yield to a front end, in the order in which they occur."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.recall import RecalledItem
from rolellm_agents.transcript import Message
from rolellm_graphs.role.prompt_parts import PromptPart


@dataclass(frozen=True, kw_only=True)
class Recalled:
    """Items were recalled for the line that is being answered."""

    items: tuple[RecalledItem, ...]


@dataclass(frozen=True, kw_only=True)
class Prompted:
    """The prompt is complete; `parts` are exactly the messages that the model receives."""

    parts: tuple[PromptPart, ...]
    model: str
    """The model's name in the transcript."""
    strategy: str
    sampling: Mapping[str, Any]
    """The model's sampling settings, as far as they are known."""


@dataclass(frozen=True, kw_only=True)
class TokenDelta:
    """The next words of an answer; the transcript already contains them."""

    message: str
    """The answer's id."""
    text: str


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """A model's server refuses for the moment; the request is sent again after a wait."""

    seconds: float
    reason: str
    """The beginning of a sentence: which model, and the server's status."""

    def __str__(self) -> str:
        """The sentence to show."""
        return f"{self.reason}; trying again in {self.seconds:.0f} s."


@dataclass(frozen=True, kw_only=True)
class Prefilling:
    """A model in this process reads the prompt, which takes longer than half a second."""

    computed: int
    """Tokens that it has read."""
    total: int

    def __str__(self) -> str:
        """The words to show."""
        return f"reading {self.computed:,} of {self.total:,} tokens"


@dataclass(frozen=True, kw_only=True)
class MessageDone:
    """The transcript contains a finished message: the user's line, or an answer."""

    message: Message


@dataclass(frozen=True, kw_only=True)
class TurnFailed:
    """The answer failed; the user's line stays in the transcript and can be answered again."""

    error: RoleLLMError
    message: Message | None
    """The part of the answer that was received; None if there is none."""


Event = Recalled | Prompted | Waiting | Prefilling | TokenDelta | MessageDone | TurnFailed
"""The events of a session."""


@dataclass(frozen=True, kw_only=True)
class SpeakerChosen:
    """The director has chosen the next speaker of a scene."""

    seat: str
    why: str
    """A short reason."""


@dataclass(frozen=True, kw_only=True)
class Retried:
    """A faulty answer is generated again; the transcript keeps it as a swipe of the next one."""

    message: Message | None
    """The faulty answer; None if it is empty."""
    fault: str


@dataclass(frozen=True, kw_only=True)
class YourTurn:
    """The scene waits for a person's line."""

    seat: str | None
    """The seat that speaks next; None when a person has to choose the next speaker."""
    why: str


@dataclass(frozen=True, kw_only=True)
class SceneEnded:
    """The scene has reached its end; it can still be continued."""

    why: str


SceneEvent = Event | SpeakerChosen | Retried | YourTurn | SceneEnded
"""The events of a stage."""

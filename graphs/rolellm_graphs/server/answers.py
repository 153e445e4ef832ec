"""An answer as it comes, whoever gives it: words, and in the end how it ended."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Protocol

from rolellm_graphs.server.wire import ChatRequest, SceneReply, Usage


@dataclass(frozen=True, slots=True)
class AnswerChunk:
    """The next words."""

    text: str
    speaker: str | None = None
    """Who begins to speak with them, in a scene."""


@dataclass(frozen=True, slots=True)
class AnswerEnd:
    """The answer is whole; nothing follows."""

    reason: str
    """`stop` or `length`."""
    usage: Usage
    scene: SceneReply | None = None


AnswerPart = AnswerChunk | AnswerEnd


class Agent(Protocol):
    """Who can be asked; it holds nothing of any conversation."""

    name: str
    """What answers carry as their `model`."""
    persona: str | None
    """The id that messages carry as their `name`; None in a scene, where several speak."""

    def answer(self, asked: ChatRequest, seed: int | None) -> AsyncGenerator[AnswerPart, None]:
        """Answer the last message; closing the generator stops it.

        Raises:
            RoleLLMError: it cannot be answered.
        """
        ...


def text_of(parts: Sequence[AnswerPart]) -> str:
    """All words."""
    return "".join(part.text for part in parts if isinstance(part, AnswerChunk))

"""The parts of an answer: text, and at the end the finish reason."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Protocol

from rolellm_graphs.server.wire import ChatRequest, SceneReply, Usage


@dataclass(frozen=True, slots=True)
class AnswerChunk:
    """The next piece of text."""

    text: str
    speaker: str | None = None
    """The speaker that starts with this piece, in a scene."""


@dataclass(frozen=True, slots=True)
class AnswerEnd:
    """The end of the answer."""

    reason: str
    """`stop` or `length`."""
    usage: Usage
    scene: SceneReply | None = None


AnswerPart = AnswerChunk | AnswerEnd


class Agent(Protocol):
    """A persona or a scene. It keeps no state of conversations."""

    name: str
    """The `model` of its answers."""
    persona: str | None
    """The `name` of its messages; None in a scene."""

    def answer(self, request: ChatRequest, seed: int | None) -> AsyncGenerator[AnswerPart, None]:
        """Answer the last message. Closing the generator stops the answer.

        Raises:
            RoleLLMError: the message cannot be answered.
        """
        ...


def text_of(parts: Sequence[AnswerPart]) -> str:
    """Join the texts of all parts."""
    return "".join(part.text for part in parts if isinstance(part, AnswerChunk))

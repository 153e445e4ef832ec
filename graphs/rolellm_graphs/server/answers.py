"""The parts of an answer: text, and at the end the finish reason."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from rolellm_graphs.server.tool_wire import CalledFunction, ToolCall
from rolellm_graphs.server.wire import ChatRequest, SceneReply, Usage


@dataclass(frozen=True, slots=True)
class AnswerChunk:
    """The next piece of text."""

    text: str
    speaker: str | None = None
    """The speaker that starts with this piece, in a scene."""
    is_reasoning: bool = False
    """Whether the piece is the model's reasoning and no part of the answer."""


@dataclass(frozen=True, slots=True)
class CallChunk:
    """A call of a tool, or the next piece of its arguments."""

    number: int
    """The place of the call in the answer; 0 is the first."""
    id: str | None
    """Only in the first piece of a call, like the name."""
    name: str | None
    arguments: str


@dataclass(frozen=True, slots=True)
class AnswerEnd:
    """The end of the answer."""

    reason: str
    """`stop`, `length` or `tool_calls`."""
    usage: Usage
    scene: SceneReply | None = None
    dropped: int = 0
    """Number of the oldest messages that were left out because they did not fit into the context."""


AnswerPart = AnswerChunk | CallChunk | AnswerEnd


class Agent(Protocol):
    """A persona, a model or a scene. It keeps no state of conversations."""

    name: str
    """The `model` of its answers."""
    persona: str | None
    """The `name` of its messages; None in a scene."""

    def ignored(self, request: ChatRequest) -> list[str]:
        """The known fields of a request that have no effect with this agent."""
        ...

    def answer(self, request: ChatRequest, seed: int | None) -> AsyncGenerator[AnswerPart, None]:
        """Answer the last message. Closing the generator stops the answer.

        Raises:
            RoleLLMError: the message cannot be answered.
        """
        ...


class WholeAnswer(NamedTuple):
    """A complete answer."""

    text: str
    reasoning: str | None
    """What the model has thought; None if it did not reason."""
    calls: list[ToolCall]
    """The tools that the model calls."""
    end: AnswerEnd


def whole_answer(parts: Sequence[AnswerPart]) -> WholeAnswer:
    """Join the parts of an answer."""
    chunks = [part for part in parts if isinstance(part, AnswerChunk)]
    text = "".join(chunk.text for chunk in chunks if not chunk.is_reasoning)
    reasoning = "".join(chunk.text for chunk in chunks if chunk.is_reasoning)
    (end,) = (part for part in parts if isinstance(part, AnswerEnd))
    return WholeAnswer(text, reasoning or None, _whole_calls(parts), end)


def _whole_calls(parts: Sequence[AnswerPart]) -> list[ToolCall]:
    calls: dict[int, ToolCall] = {}
    for part in parts:
        if isinstance(part, CallChunk):
            begun = ToolCall(id=part.id or "", function=CalledFunction(name=part.name or ""))
            calls.setdefault(part.number, begun).function.arguments += part.arguments
    return list(calls.values())

"""Splits a caller's messages into the parts of a persona's prompt."""

from collections.abc import Sequence
from typing import NamedTuple

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from rolellm_agents.errors import MessageError
from rolellm_agents.models.reasoning import without_reasoning


class Conversation(NamedTuple):
    """A caller's messages, split at the last user message."""

    scene: str
    """The caller's system messages, joined with blank lines."""
    history: list[BaseMessage]
    line: str
    """The user's line."""
    since: list[BaseMessage]
    """The messages after the line, such as tool calls and their results."""


def conversation_of(messages: Sequence[BaseMessage]) -> Conversation:
    """Split a caller's messages at the last user message.

    Args:
        messages: in order. System messages before the line become the scene; later ones stay in place.

    Raises:
        MessageError: there is no user message, or a user message contains more than text.
    """
    at = next((at for at, one in reversed([*enumerate(messages)]) if isinstance(one, HumanMessage)), None)
    if at is None:
        raise MessageError("There is no user message that the persona could answer; add a HumanMessage.")
    for message in messages[: at + 1]:
        if isinstance(message, HumanMessage):
            _refuse_more_than_words(message)
    before = messages[:at]
    scene = [one.text for one in before if isinstance(one, SystemMessage) and one.text.strip()]
    # Histories of other programs may contain what a model has thought.
    history = [without_reasoning(one) for one in before if not isinstance(one, SystemMessage)]
    return Conversation("\n\n".join(scene), history, messages[at].text, list(messages[at + 1 :]))


def _refuse_more_than_words(message: HumanMessage) -> None:
    for block in message.content:
        kind = block.get("type", "unknown") if isinstance(block, dict) else "text"
        if kind != "text":
            raise MessageError(
                f"A user message contains a part of the type {kind!r}, but a persona accepts only text; "
                "leave it out, or describe its content."
            )

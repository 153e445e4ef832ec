"""Splits a caller's messages into the parts of a persona's prompt."""

from collections.abc import Sequence
from typing import NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from rolellm_agents.errors import MessageError
from rolellm_agents.models.reasoning import without_reasoning
from rolellm_agents.persona import Persona
from rolellm_agents.scene.view import GOES_ON
from rolellm_graphs.role.hearing import as_heard, refuse_more_than_words


class Conversation(NamedTuple):
    """A caller's messages, split at the line that is answered."""

    scene: str
    """The caller's system messages, joined with blank lines."""
    history: list[BaseMessage]
    line: str
    """What the persona answers: the last words of the user's or of other speakers."""
    since: list[BaseMessage]
    """The messages after the line, such as tool calls and their results."""


def conversation_of(
    messages: Sequence[BaseMessage], persona: Persona, *, user: str, agent: str | None = None
) -> Conversation:
    """Split a caller's messages at the line that the persona answers.

    The line is the last message that somebody else said, as `as_heard` converts it. If the last message is
    the persona's own answer, nobody has said anything since, and the line says so, as in scenes.

    Args:
        messages: in order. System messages before the line become the scene; later ones stay in place.
        persona: who answers.
        user: the display name of the person who talks with it.
        agent: the name under which other agents know the persona, in addition to its id and name.

    Raises:
        MessageError: there is nothing to answer, or a message contains more than text.
    """
    for message in messages:
        if isinstance(message, HumanMessage) and not isinstance(message.content, str):
            refuse_more_than_words(message)
    if [message for message in messages if message.name or message.response_metadata]:
        messages = as_heard(messages, persona, user=user, agent=agent)
    places = [place for place, message in enumerate(messages) if isinstance(message, HumanMessage)]
    if messages and isinstance(last := messages[-1], AIMessage) and not last.tool_calls:
        at, line, since = len(messages), GOES_ON[persona.language], []
    elif places:
        at = places[-1]
        line, since = messages[at].text, list(messages[at + 1 :])
    else:
        raise MessageError(
            "There is no user message that the persona could answer, nor another speaker's; "
            'add a HumanMessage, as in {"messages": [("user", "…")]}.'
        )
    before = messages[:at]
    scene = [one.text for one in before if isinstance(one, SystemMessage) and one.text.strip()]
    history = [
        # Histories of other programs may contain what a model has thought.
        without_reasoning(one) if isinstance(one, AIMessage) else one
        for one in before
        if not isinstance(one, SystemMessage)
    ]
    return Conversation("\n\n".join(scene), history, line, since)

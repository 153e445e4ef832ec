"""Requests that a chat program sends to one model and means for another.

Examples are the title of a conversation, the user's own next message, and the members of a group.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Final

from langchain_core.messages import SystemMessage

from rolellm_graphs.server.client_notes import ClientNotes, notes_in
from rolellm_graphs.server.names import AS_CARD, PLAIN, AgentName
from rolellm_graphs.server.wire import ChatMessage

_SYSTEM: Final = ("system", "developer")
_BEGINNING: Final = "### Task:"
_CONVERSATION: Final = "<chat_history>"


def addressee(
    name: AgentName,
    messages: Sequence[ChatMessage],
    *,
    plain_tasks: bool,
    persona_named: Callable[[str], str | None],
) -> AgentName:
    """Who answers a request.

    Args:
        name: the agent that the request names.
        messages: the conversation.
        plain_tasks: the model alone does the client's tasks.
        persona_named: finds the id of a persona by its display name.

    Returns:
        The plain model for tasks; for the user's next message, the model with the client's own instruction.
        If a persona is named and another member of the group is to speak, the persona of this name, or
        without one the character of the client.
    """
    if plain_tasks and is_client_task(messages):
        return replace(name, id=PLAIN, kind="plain", strategy=None, seat=None)
    notes = _notes(messages)
    client = replace(name, id=AS_CARD, kind="as-card", strategy=None, seat=None)
    if plain_tasks and notes.writes_for is not None and name.kind != "plain":
        return client
    if name.kind == "persona" and notes.speaker is not None:
        persona = persona_named(notes.speaker)
        return replace(name, id=persona) if persona else client
    return name


def is_client_task(messages: Sequence[ChatMessage]) -> bool:
    """Whether a request is a task of Open WebUI: title, tags, follow-ups, queries, completion of a line.

    Its prompts for tasks are single user messages that quote the conversation. Its prompt for documents
    also begins with a task, but belongs to a conversation and quotes none.
    """
    said = [message for message in messages if message.role not in _SYSTEM]
    if len(said) != 1 or said[0].role != "user":
        return False
    text = said[0].text.lstrip()
    return text.startswith(_BEGINNING) and _CONVERSATION in text


def _notes(messages: Sequence[ChatMessage]) -> ClientNotes:
    last = takewhile(lambda message: message.role in _SYSTEM, reversed(messages))
    return notes_in([SystemMessage(message.text) for message in last])

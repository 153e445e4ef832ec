"""What conversations were called, what is looked for in them, and what is shown of one at a glance."""

import re
from collections.abc import Mapping, Sequence

from rolellm_agents.persona import list_personas
from rolellm_agents.text import one_line
from rolellm_agents.transcript import Message, Transcript
from rolellm_agents.transcript.message import USER

_LINE = 80
"""Characters of a first line."""
_GLANCE = 12
"""Messages."""


def names_of_personas() -> Mapping[str, str]:
    """What each persona is called, by its id."""
    return {found.persona.id: found.persona.name for found in list_personas().found}


def first_lines(transcript: Transcript, conversations: Sequence[str]) -> dict[str, str]:
    """The person's first line in each, by the conversation's id; empty where they said nothing."""
    return {one: _first_line(transcript, one) for one in conversations}


def glance(transcript: Transcript, conversation: str, message: str | None) -> list[Message]:
    """The last messages of a conversation; or a message, the one before it, and what follows.

    Raises:
        MessageError: there is no such message.
    """
    if message is None:
        return transcript.path(conversation, transcript.latest_branch(conversation))[-_GLANCE:]
    path = transcript.path_through(message)
    at = [one.id for one in path].index(message)
    return path[max(0, at - 1) :][:_GLANCE]


def words_of(search: str) -> list[str]:
    """What a search asks for, without the signs that only the search of messages knows."""
    return re.sub('[*"“”„«»]', " ", search).casefold().split()


def query_of(search: str) -> str:
    """What a search asks of messages while it is typed: its last word may not be finished."""
    return f"{search}*" if search and re.match(r"\w", search[-1]) else search


def _first_line(transcript: Transcript, conversation: str) -> str:
    for message in transcript.path(conversation, transcript.latest_branch(conversation)):
        if message.speaker == USER:
            return one_line(message.text, _LINE)
    return ""

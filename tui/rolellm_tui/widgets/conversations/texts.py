"""Texts of the conversation list: names, first lines, previews and search queries."""

import re
from collections.abc import Mapping, Sequence

from rolellm_agents.persona import list_personas
from rolellm_agents.text import one_line
from rolellm_agents.transcript import Message, Transcript
from rolellm_agents.transcript.message import USER

_LINE = 80
"""Maximum length of a first line, in characters."""
_GLANCE = 12
"""Messages."""


def names_of_personas() -> Mapping[str, str]:
    """The names of all personas, by id."""
    return {found.persona.id: found.persona.name for found in list_personas().found}


def first_lines(transcript: Transcript, conversations: Sequence[str]) -> dict[str, str]:
    """The user's first line of each conversation, by the conversation's id; it may be empty."""
    return {conversation: _first_line(transcript, conversation) for conversation in conversations}


def glance(transcript: Transcript, conversation: str, message: str | None) -> list[Message]:
    """The last messages of a conversation, or those around a message.

    Raises:
        MessageError: there is no such message.
    """
    if message is None:
        return transcript.path(conversation, transcript.latest_branch(conversation))[-_GLANCE:]
    path = transcript.path_through(message)
    index = [node.id for node in path].index(message)
    return path[max(0, index - 1) :][:_GLANCE]


def words_of(search: str) -> list[str]:
    """The search words without operators."""
    return re.sub('[*"“”„«»]', " ", search).casefold().split()


def query_of(search: str) -> str:
    """The transcript query for a search text that is being typed; its last word is a prefix."""
    return f"{search}*" if search and re.match(r"\w", search[-1]) else search


def _first_line(transcript: Transcript, conversation: str) -> str:
    for message in transcript.path(conversation, transcript.latest_branch(conversation)):
        if message.speaker == USER:
            return one_line(message.text, _LINE)
    return ""

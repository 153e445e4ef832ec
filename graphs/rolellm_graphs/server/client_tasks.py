"""Requests that a chat program sends for itself, such as for the title of a conversation."""

from collections.abc import Sequence
from typing import Final

from rolellm_graphs.server.wire import ChatMessage

_BEGINNING: Final = "### Task:"
_CONVERSATION: Final = "<chat_history>"


def is_client_task(messages: Sequence[ChatMessage]) -> bool:
    """Whether a request is a task of Open WebUI: title, tags, follow-ups, queries, completion of a line.

    Its prompts for tasks are single user messages that quote the conversation. Its prompt for documents
    also begins with a task, but belongs to a conversation and quotes none.
    """
    said = [message for message in messages if message.role not in ("system", "developer")]
    if len(said) != 1 or said[0].role != "user":
        return False
    text = said[0].text.lstrip()
    return text.startswith(_BEGINNING) and _CONVERSATION in text

"""The transcript: an append-only tree of messages in one SQLite file."""

from rolellm_agents.transcript.message import (
    ConversationRecord,
    ConversationSummary,
    FoundMessage,
    Kind,
    Message,
    Status,
)
from rolellm_agents.transcript.store import Transcript

__all__ = [
    "ConversationRecord",
    "ConversationSummary",
    "FoundMessage",
    "Kind",
    "Message",
    "Status",
    "Transcript",
]

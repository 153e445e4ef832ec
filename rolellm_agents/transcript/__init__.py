"""The append-only tree of everything that was said, in one SQLite file."""

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

"""The transcript: a tree of messages in one SQLite file, to which is only added, and a bin."""

from rolellm_agents.transcript.message import (
    BinEntry,
    ConversationRecord,
    ConversationSummary,
    DeletionExtent,
    FoundMessage,
    Kind,
    Message,
    Status,
)
from rolellm_agents.transcript.store import Transcript

__all__ = [
    "BinEntry",
    "ConversationRecord",
    "ConversationSummary",
    "DeletionExtent",
    "FoundMessage",
    "Kind",
    "Message",
    "Status",
    "Transcript",
]

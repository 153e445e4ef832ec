"""The append-only tree of everything that was said, in one SQLite file."""

from rolellm_agents.transcript.message import ConversationSummary, Kind, Message, Status
from rolellm_agents.transcript.store import Transcript

__all__ = ["ConversationSummary", "Kind", "Message", "Status", "Transcript"]

"""Deletions in words."""

from typing import TYPE_CHECKING

from rolellm_tui.widgets.common.formatting import counted

if TYPE_CHECKING:
    from rolellm_agents.transcript import BinEntry, DeletionExtent


def extent_of(deletion: "DeletionExtent | BinEntry") -> str:
    """How much a deletion takes: `3 conversations, 120 messages`."""
    conversations = [counted(deletion.conversations, "conversation")] if deletion.conversations else []
    return ", ".join([*conversations, counted(deletion.messages, "message")])


def about_entry(entry: "BinEntry") -> str:
    """What an entry of the bin is, in a few words."""
    match entry.kind:
        case "persona":
            return f"everything of {entry.persona}"
        case "conversation":
            return f"conversation {entry.conversation}" + (f" “{entry.title}”" if entry.title else "")
        case "branch":
            return f"{entry.branch} of conversation {entry.conversation}"
        case "message":
            return f"the end of conversation {entry.conversation}"

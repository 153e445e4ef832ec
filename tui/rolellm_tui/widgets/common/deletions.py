"""Deletions in words, and emptying the bin."""

from typing import TYPE_CHECKING

from rolellm_tui.widgets.common.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from rolellm_agents.transcript import BinEntry, DeletionExtent, Transcript


def empty_bin(
    transcript: "Transcript",
    deletion: str | None = None,
    progress: "Callable[[int, int], None]" = lambda _done, _total: None,
) -> bool:
    """Empty the bin, or delete one deletion forever, with the vectors that recall has computed of it.

    Arguments, result and errors are those of `Transcript.empty_bin`.

    Raises:
        StorageError: recall's store cannot be written; the messages are deleted.
    """
    from rolellm_agents.recall.chroma import forget_memories

    wiped = transcript.empty_bin(deletion, progress)
    forget_memories()
    return wiped


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

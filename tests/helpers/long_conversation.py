"""A conversation that is longer than the context of most models."""

from rolellm_agents.transcript import Message
from rolellm_agents.transcript.message import USER, ConversationRecord


def long_record(messages: int) -> ConversationRecord:
    """A conversation of `messages` messages of about 300 characters with the persona `ada`."""

    def message(place: int) -> Message:
        by_user = place % 2 == 0
        words = f"{'Question' if by_user else 'Answer'} {place}: " + "the boat waits in the rain. " * 10
        return Message(
            id=str(place),
            conversation="c",
            parent=str(place - 1) if place else None,
            speaker=USER if by_user else "ada",
            audience=(USER, "ada"),
            kind="say",
            text=words,
            status="complete",
            created="2026-11-25T08:00:00+00:00",
        )

    return ConversationRecord(
        persona="ada",
        created="2026-11-25T08:00:00+00:00",
        messages=tuple(message(place) for place in range(messages)),
        branches={"main": str(messages - 1)},
        branch="main",
    )

"""A conversation record as a tree: what stands, and what stands beside it."""

from collections.abc import Mapping
from dataclasses import replace

from rolellm_agents.transcript import ConversationRecord, Message


def path_of(record: ConversationRecord) -> list[Message]:
    """The messages from the first to the one where somebody who comes back goes on."""
    by_id = {message.id: message for message in record.messages}
    path: list[Message] = []
    at = record.branches.get(record.branch)
    while at is not None:
        path.append(by_id[at])
        at = by_id[at].parent
    return path[::-1]


def siblings_of(record: ConversationRecord) -> Mapping[str | None, list[Message]]:
    """By a message's id, or None for the beginning: all that follow it directly, oldest first."""
    found: dict[str | None, list[Message]] = {}
    for message in record.messages:
        found.setdefault(message.parent, []).append(message)
    return found


def as_it_stands(record: ConversationRecord) -> ConversationRecord:
    """The conversation without its swipes and other branches."""
    head = record.branches.get(record.branch)
    return replace(record, messages=tuple(path_of(record)), branches={record.branch: head})


def with_persona(record: ConversationRecord, persona: str) -> ConversationRecord:
    """The same conversation with another persona in the first one's place."""
    old = record.persona

    def renamed(speaker: str) -> str:
        return persona if speaker == old else speaker

    messages = (
        replace(
            message,
            speaker=renamed(message.speaker),
            audience=tuple(renamed(one) for one in message.audience),
        )
        for message in record.messages
    )
    return replace(record, persona=persona, messages=tuple(messages))

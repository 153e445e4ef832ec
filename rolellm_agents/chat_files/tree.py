"""The tree of a conversation record: its active branch, siblings and speakers."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rolellm_agents.text import one_line
from rolellm_agents.transcript import ConversationRecord, Message
from rolellm_agents.transcript.message import USER


@dataclass(frozen=True)
class SpeakerNames:
    """The names of a chat's speakers; speakers other than persona and user are named by their id."""

    persona_id: str
    persona: str
    user: str

    def of(self, speaker: str) -> str:
        """A speaker's name on one line."""
        known = {USER: self.user, self.persona_id: self.persona}
        return one_line(known.get(speaker, speaker))


def active_path(record: ConversationRecord) -> list[Message]:
    """The messages of the active branch, oldest first."""
    by_id = {message.id: message for message in record.messages}
    path: list[Message] = []
    at = record.branches.get(record.branch)
    while at is not None:
        path.append(by_id[at])
        at = by_id[at].parent
    return path[::-1]


def siblings_of(record: ConversationRecord) -> Mapping[str | None, list[Message]]:
    """The children of each message by its id, oldest first; the children of None are the first messages."""
    found: dict[str | None, list[Message]] = {}
    for message in record.messages:
        found.setdefault(message.parent, []).append(message)
    return found


def only_active_branch(record: ConversationRecord) -> ConversationRecord:
    """The record without swipes and other branches."""
    head = record.branches.get(record.branch)
    return replace(record, messages=tuple(active_path(record)), branches={record.branch: head})


def with_persona(record: ConversationRecord, persona: str) -> ConversationRecord:
    """The record with another persona in place of its own."""
    old = record.persona

    def renamed(speaker: str) -> str:
        return persona if speaker == old else speaker

    messages = (
        replace(
            message,
            speaker=renamed(message.speaker),
            audience=tuple(map(renamed, message.audience)),
        )
        for message in record.messages
    )
    return replace(record, persona=persona, messages=tuple(messages))

"""Memories: the exchanges of a persona's earlier conversations."""

from collections.abc import Sequence

from rolellm_agents.persona import Persona
from rolellm_agents.recall.passages import Passage
from rolellm_agents.transcript import Message, Transcript
from rolellm_agents.transcript.message import USER

_MOST = 400
"""How many of the latest conversations are searched."""


def memories_of(
    transcript: Transcript, persona: Persona, *, user: str, but: str | None = None
) -> list[Passage]:
    """One passage for each user line with its answers, the latest conversation first.

    Only the current branch of each conversation counts, so swiped answers are not remembered.

    `but` is a conversation to leave out, such as the current one.

    Raises:
        StorageError: the transcript cannot be read.
    """
    passages: list[Passage] = []
    for conversation in transcript.conversations(persona.id)[:_MOST]:
        if conversation.id == but:
            continue
        path = transcript.path(conversation.id, transcript.latest_branch(conversation.id))
        source = f"conversation {conversation.id} of {conversation.created[:10]}"
        for text in exchanges(path, persona.name, user):
            passages.append(Passage("memory", text, source, len(passages)))
    return passages


def exchanges(path: Sequence[Message], name: str, user: str) -> list[str]:
    """User lines with their answers; a line without an answer is left out."""
    turns: list[list[str]] = []
    for message in path:
        if message.speaker == USER:
            turns.append([f"{user}: {message.text}"])
        elif turns:
            turns[-1].append(f"{name}: {message.text}")
    return ["\n".join(lines) for lines in turns if len(lines) > 1]

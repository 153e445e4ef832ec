"""What a persona said and heard in earlier conversations, as far as they stand."""

from collections.abc import Sequence

from rolellm_agents.persona import Persona
from rolellm_agents.recall.passages import Passage
from rolellm_agents.transcript import Message, Transcript
from rolellm_agents.transcript.message import USER

_MOST = 400
"""Conversations that are looked through, the latest first."""


def memories_of(
    transcript: Transcript, persona: Persona, *, user: str, but: str | None = None
) -> list[Passage]:
    """One passage for each line of the person's and the answers to it, the latest conversation first.

    Of each conversation the branch it stands on counts: what was swiped or branched away is not remembered.

    Args:
        transcript: all conversations.
        persona: whose memories.
        user: what the persona calls the person.
        but: a conversation to leave out, such as the one that goes on.

    Raises:
        StorageError: the transcript cannot be read.
    """
    passages: list[Passage] = []
    for conversation in transcript.conversations(persona.id)[:_MOST]:
        if conversation.id == but:
            continue
        path = transcript.path(conversation.id, transcript.latest_branch(conversation.id))
        source = f"conversation {conversation.id} of {conversation.created[:10]}"
        for text in _exchanges(path, persona.name, user):
            passages.append(Passage("memory", text, source, len(passages)))
    return passages


def _exchanges(path: Sequence[Message], name: str, user: str) -> list[str]:
    """Lines of the person's with what was answered; a line without an answer is no exchange."""
    exchanges: list[list[str]] = []
    for message in path:
        if message.speaker == USER:
            exchanges.append([f"{user}: {message.text}"])
        elif exchanges:
            exchanges[-1].append(f"{name}: {message.text}")
    return ["\n".join(lines) for lines in exchanges if len(lines) > 1]

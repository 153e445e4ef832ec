"""The summary of a conversation's earlier messages: which one counts, and what the next one covers."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from langchain_core.messages import BaseMessage

from rolellm_agents.models.context_size import SURELY_FITS, prompt_room, text_tokens
from rolellm_agents.persona.from_card.conversion import char_name
from rolellm_agents.prompting.summary import SUMMARY_TOKENS, lines_to_cover, summary_prompt
from rolellm_agents.recall.memories import exchanges
from rolellm_agents.transcript import Message
from rolellm_agents.transcript.message import USER
from rolellm_graphs.chat.voice import Voice

_RESERVE = 8
"""One in so many tokens of the room is left for the coming line and what is recalled for it."""


class ActiveSummary(NamedTuple):
    """The summary that stands in the prompts of a branch for its earlier messages."""

    text: str
    covers: int
    """How many messages of the branch it covers, from the first one on."""
    message: str
    """The id of the last message that it covers."""


class ChatSummaryRequest(NamedTuple):
    """The messages that ask a model for a summary."""

    messages: list[BaseMessage]
    message: str
    """The id of the last message that the summary will cover."""


def active_summary(path: Sequence[Message], summaries: Mapping[str, str]) -> ActiveSummary | None:
    """The summary that reaches furthest on a path, before the path's last message.

    Args:
        path: the messages of a branch.
        summaries: the conversation's summaries by the id of the message up to which each reaches.
    """
    if not summaries:
        return None
    for place in range(len(path) - 1, 0, -1):
        if text := summaries.get(path[place - 1].id):
            return ActiveSummary(text, place, path[place - 1].id)
    return None


def covered_exchanges(voice: Voice, path: Sequence[Message], summary: ActiveSummary) -> tuple[str, ...]:
    """The user's lines, with their answers, that a summary covers."""
    return tuple(exchanges(path[: summary.covers], voice.persona.name, voice.user))


def summary_needed(
    voice: Voice, path: Sequence[Message], before: ActiveSummary | None
) -> ChatSummaryRequest | None:
    """The request for a new summary, if a branch would soon no longer fit into the context; else None.

    A request covers whole turns, and no more than fits into the context at once.

    Args:
        voice: the voice that answers next, and whose model writes the summary.
        path: the messages of the branch.
        before: the summary that counts so far.

    Raises:
        ModelError: the model's file, which is needed to count tokens, cannot be loaded.
    """
    room = prompt_room(voice.model)
    history = path[before.covers if before else 0 :]
    if room is None or sum([len(message.text) for message in history]) <= SURELY_FITS:
        return None
    text = before.text if before else ""
    fixed = voice.prompting.compose([], [], "", summary=text)
    left = room - room // _RESERVE - sum([text_tokens(voice.model, message.text) for message in fixed])
    name, language = char_name(voice.persona), voice.persona.language
    lines = [f"{voice.user if message.speaker == USER else name}: {message.text}" for message in history]
    sizes = [text_tokens(voice.model, line) for line in lines]
    if sum(sizes) <= left:
        return None
    asked = summary_prompt(name, [], text, language)[0].text
    most = room - SUMMARY_TOKENS - text_tokens(voice.model, asked)
    covered = _whole_turns(history, min(lines_to_cover(sizes, left), _fitting(sizes, most)))
    if not covered:
        return None
    return ChatSummaryRequest(
        summary_prompt(name, lines[:covered], text, language), history[covered - 1].id
    )


def _fitting(sizes: Sequence[int], room: int) -> int:
    """How many of the first lines fit into a request."""
    for place, size in enumerate(sizes):
        room -= size
        if room < 0:
            return place
    return len(sizes)


def _whole_turns(history: Sequence[Message], covered: int) -> int:
    """The largest number of messages up to `covered` after which a line of the user's follows."""
    while covered > 0 and (covered == len(history) or history[covered].speaker != USER):
        covered -= 1
    return covered

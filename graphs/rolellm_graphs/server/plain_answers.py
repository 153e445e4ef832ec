"""Models without a persona of ours: alone, or with the character of the client's own messages."""

from collections.abc import Sequence
from http import HTTPStatus
from itertools import takewhile

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, SystemMessage

from rolellm_agents.models.local import LocalModel
from rolellm_agents.models.separated import separated
from rolellm_agents.scene.message_kinds import SAY
from rolellm_graphs.role.hearing import heard_by
from rolellm_graphs.server.client_notes import (
    as_begun_answer,
    as_the_user,
    notes_in,
    speaker_note_first,
    user_in,
    with_examples,
    with_speakers,
)
from rolellm_graphs.server.failures import ApiError
from rolellm_graphs.server.model_answers import ModelAgent
from rolellm_graphs.server.names import AS_CARD, PLAIN
from rolellm_graphs.server.tool_use import ToolUse


def plain_agent(model: BaseChatModel, *, tools: ToolUse, max_tokens: int) -> ModelAgent:
    """The model itself, which gets a client's messages unchanged.

    Args:
        model: the model.
        tools: which requests' tools it gets.
        max_tokens: the maximum length of an answer in tokens.
    """
    return ModelAgent(
        PLAIN, separated(model), model, prepare=_without_names, tools=tools, max_tokens=max_tokens
    )


def card_agent(model: BaseChatModel, *, user: str, tools: ToolUse, max_tokens: int) -> ModelAgent:
    """The model as the character that the client's system messages describe.

    Args:
        model: the model.
        user: the user's name, unless the client's messages say another.
        tools: which requests' tools it gets.
        max_tokens: the maximum length of an answer in tokens.
    """
    goes_on = isinstance(model, LocalModel)

    def prepare(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        return _without_names(with_instruction(_as_meant(messages, user, goes_on=goes_on)))

    return ModelAgent(AS_CARD, separated(model), model, prepare=prepare, tools=tools, max_tokens=max_tokens)


def _as_meant(messages: Sequence[BaseMessage], user: str, *, goes_on: bool) -> list[BaseMessage]:
    """The messages after their notes were followed."""
    notes = notes_in(messages)
    turns = with_examples(messages)
    if notes.speaker is not None:
        turns = speaker_note_first(with_speakers(turns, notes.speaker))
        form = SAY.shown_form("en")
        turns = heard_by({notes.speaker}, turns, user=user_in(messages) or user, form=form)
    if notes.writes_for is not None:
        return as_the_user(turns)
    return as_begun_answer(turns) if goes_on else turns


def with_instruction(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages with one instruction, because small models read only one system message.

    The first system messages are joined. Later ones, such as notes near the end, stay in place.

    Raises:
        ApiError: there is no system message.
    """
    if not any(isinstance(message, SystemMessage) and message.text.strip() for message in messages):
        raise ApiError(
            HTTPStatus.BAD_REQUEST,
            f"The model {AS_CARD} takes the character from a message of the role system, and there is "
            "none; add one, or name a persona as the model.",
            param="messages",
        )
    first = list(takewhile(lambda message: isinstance(message, SystemMessage), messages))
    texts = [message.text for message in first if message.text.strip()]
    return [*([SystemMessage("\n\n".join(texts))] if texts else []), *messages[len(first) :]]


def _without_names(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages without the names of their speakers, which many models' servers refuse."""
    return [message.model_copy(update={"name": None}) for message in messages]

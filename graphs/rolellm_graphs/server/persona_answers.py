"""Answers of personas."""

from collections.abc import Sequence
from http import HTTPStatus

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from rolellm_agents.models.local import LocalModel
from rolellm_agents.persona import Persona
from rolellm_graphs.role.chat_model import RoleChatModel
from rolellm_graphs.server.client_notes import (
    as_begun_answer,
    as_name,
    notes_in,
    with_speakers,
    without_speaker_note,
)
from rolellm_graphs.server.failures import ApiError
from rolellm_graphs.server.model_answers import ModelAgent
from rolellm_graphs.server.own_card import own_card_remover
from rolellm_graphs.server.tool_use import ToolUse


def persona_agent(
    persona: Persona, model: BaseChatModel, *, strategy: str, user: str, tools: ToolUse, max_tokens: int
) -> ModelAgent:
    """A persona with a model and a strategy; nothing is loaded yet.

    Args:
        persona: the persona that answers.
        model: the model that generates the answers.
        strategy: the name of the strategy.
        user: the user's name.
        tools: which requests' tools the model gets.
        max_tokens: the maximum length of an answer in tokens.

    Raises:
        SettingsError: the strategy is unknown.
        PersonaError: the persona's lorebook cannot be used.
    """
    without_card = own_card_remover(persona)
    goes_on = isinstance(model, LocalModel)

    def prepare(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        return _with_a_line(without_card(_as_meant(messages, persona, goes_on=goes_on)))

    return ModelAgent(
        f"{persona.id}@{strategy}",
        RoleChatModel(persona=persona, model=model, strategy=strategy, user=user),
        model,
        prepare=prepare,
        tools=tools,
        max_tokens=max_tokens,
        persona=persona.id,
    )


def _as_meant(messages: Sequence[BaseMessage], persona: Persona, *, goes_on: bool) -> list[BaseMessage]:
    """The messages after their notes were followed, with names where others speak.

    Args:
        messages: as the client sent them.
        persona: the persona that answers.
        goes_on: whether the model continues an answer that is the last message.
    """
    speaker = notes_in(messages).speaker
    if speaker is not None:
        messages = without_speaker_note(with_speakers(messages, speaker))
    own = {persona.id, persona.name, as_name(persona.name)}
    people = {message.name for message in messages if isinstance(message, HumanMessage)}
    named = [
        message.model_copy(update={"name": None})
        if (isinstance(message, AIMessage) and message.name in own)
        or (isinstance(message, HumanMessage) and len(people) == 1)
        else message
        for message in messages
    ]
    return as_begun_answer(named) if goes_on else named


def _with_a_line(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages, which must have a line that the persona can answer."""
    lines = [
        message.text.strip()
        for message in messages
        if isinstance(message, HumanMessage) or (isinstance(message, AIMessage) and message.name)
    ]
    if not lines or not lines[-1]:
        empty = "The last message of the role user is empty; write something in it."
        missing = "There is no message of the role user that the persona could answer; add one."
        raise ApiError(HTTPStatus.BAD_REQUEST, empty if lines else missing, param="messages")
    return list(messages)

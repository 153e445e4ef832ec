"""Answers of personas."""

from collections.abc import Sequence
from http import HTTPStatus

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage

from rolellm_agents.persona import Persona
from rolellm_graphs.role.chat_model import RoleChatModel
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
    return ModelAgent(
        f"{persona.id}@{strategy}",
        RoleChatModel(persona=persona, model=model, strategy=strategy, user=user),
        model,
        prepare=lambda messages: without_card(_with_a_line(messages)),
        tools=tools,
        max_tokens=max_tokens,
        persona=persona.id,
    )


def _with_a_line(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages, which must have a line that the persona can answer."""
    lines = [message.text.strip() for message in messages if isinstance(message, HumanMessage)]
    if not lines or not lines[-1]:
        empty = "The last message of the role user is empty; write something in it."
        missing = "There is no message of the role user that the persona could answer; add one."
        raise ApiError(HTTPStatus.BAD_REQUEST, empty if lines else missing, param="messages")
    return list(messages)

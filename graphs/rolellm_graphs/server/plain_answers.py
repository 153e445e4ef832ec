"""Models without a persona of ours: alone, or with the character of the client's own messages."""

from collections.abc import Sequence
from http import HTTPStatus
from itertools import takewhile

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, SystemMessage

from rolellm_agents.models.separated import separated
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
    return ModelAgent(PLAIN, separated(model), model, prepare=list, tools=tools, max_tokens=max_tokens)


def card_agent(model: BaseChatModel, *, tools: ToolUse, max_tokens: int) -> ModelAgent:
    """The model as the character that the client's system messages describe; arguments as for `plain`."""
    return ModelAgent(
        AS_CARD, separated(model), model, prepare=with_instruction, tools=tools, max_tokens=max_tokens
    )


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

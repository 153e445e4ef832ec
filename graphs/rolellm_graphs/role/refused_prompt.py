"""A prompt that a server refused because it is too long, and the shorter one that is sent instead."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, messages_to_dict
from langgraph.config import get_stream_writer

from rolellm_agents.errors import ContextLengthError
from rolellm_agents.models.context_size import fitted, forget_context, learn_from_refusal
from rolellm_agents.models.failures import is_too_long

SHORTENED: Final = "shortened"
"""Key of a part of the graph's custom stream: the messages that are sent instead, as plain values."""
_MOST_TRIES: Final = 3
"""Calls with shorter prompts; more than one only if the server does not say how much it reads."""
_STATUSES: Final = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.INTERNAL_SERVER_ERROR,
)


def shortened(
    error: Exception, tries: int, model: BaseChatModel | None, messages: object
) -> list[BaseMessage] | None:
    """The prompt that fits, after a server refused a longer one; None if the error is to be raised.

    The server's limit is remembered for later calls, and the new prompt is written to the custom stream.

    Args:
        error: what the call raised.
        tries: how often the model was called.
        model: the model; None for calls that are not repeated.
        messages: the prompt that was refused; calls with other inputs are not repeated.

    """
    if model is None or tries > _MOST_TRIES or not isinstance(messages, Sequence):
        return None
    if getattr(error, "status_code", None) not in _STATUSES or not is_too_long(error):
        return None
    learn_from_refusal(model, str(error), messages)
    try:
        shorter = fitted(model, messages)
    except ContextLengthError:
        # The server's own words say more than our estimate, which must not keep later prompts from it.
        forget_context(model)
        return None
    if len(shorter) == len(messages):
        return None
    get_stream_writer()({SHORTENED: messages_to_dict(shorter)})
    return shorter

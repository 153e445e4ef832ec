"""Waiting for a model's server that refuses for the moment, and telling the reader of the graph."""

from typing import Final

from langchain_core.language_models import BaseChatModel
from langgraph.config import get_stream_writer

from rolellm_agents.models.failures import describe_refusal, is_too_long
from rolellm_agents.runs.backoff import seconds_to_wait

BACKOFF: Final = "backoff"
"""Key of a part of the graph's custom stream: the seconds of a wait, and its reason."""


def announced_wait(error: Exception, tries: int, model: BaseChatModel | None) -> float | None:
    """The seconds to wait before a model is called again; None if the error is to be raised.

    The wait is written to the custom stream of the running graph.

    Args:
        error: what the call raised. Only a refusal by a server is waited for: other errors may come in the
            middle of an answer, of which words were streamed.
        tries: how often the model was called.
        model: the model; None for calls that are not repeated.
    """
    if model is None or getattr(error, "status_code", None) is None or is_too_long(error):
        return None
    seconds = seconds_to_wait(error, tries)
    if seconds is not None:
        get_stream_writer()({BACKOFF: {"seconds": seconds, "reason": describe_refusal(error, model)}})
    return seconds

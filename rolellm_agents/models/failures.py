"""Convert errors of model libraries into one sentence with the cause and the next step."""

import re
import sys
from typing import TYPE_CHECKING

from langchain_core.language_models import BaseChatModel
from typing_extensions import TypeIs

from rolellm_agents.errors import ContextLengthError, ModelError, RoleLLMError
from rolellm_agents.models.catalog import describe_model
from rolellm_agents.text import one_line
from rolellm_agents.text.masking import masked

if TYPE_CHECKING:
    from langchain_openai import ChatOpenAI


def explain_failure(error: Exception, model: BaseChatModel) -> RoleLLMError | None:
    """The error to show to the user, or None for a defect of this program.

    Args:
        error: the exception that a call of `model` raised.
        model: the model that was called.
    """
    if isinstance(error, RoleLLMError):
        return error
    if not _speaks_openai(model):
        return _explain_foreign(error, model)
    import openai

    name, place = describe_model(model), masked(model.openai_api_base or "OpenAI")
    if isinstance(error, openai.APITimeoutError):
        return ModelError(
            f"{name} did not answer in time at {place}; try again, or raise “timeout” in models.toml."
        )
    if isinstance(error, openai.APIConnectionError):
        return _explain_connection(error, name, place)
    if isinstance(error, openai.APIStatusError):
        return _explain_refusal(error.message, error.status_code, name, place)
    if isinstance(error, openai.APIError) and not isinstance(error, openai.APIResponseValidationError):
        # The server reported the error in the middle of a stream.
        return _explain_refusal(error.message, 500, name, place)
    if isinstance(error, openai.OpenAIError | ValueError | TypeError | LookupError | AttributeError):
        return ModelError(
            f"{place} answered {name} with something that is not an OpenAI-style reply "
            f"({_shown(str(error), 120)}); check the base URL, which usually ends in /v1."
        )
    return None


def describe_refusal(error: Exception, model: BaseChatModel) -> str:
    """The beginning of a sentence about a server that refuses for the moment, with its status."""
    status = getattr(error, "status_code", None)
    verb = "takes no more requests now" if status == _RATE_LIMIT else "cannot answer now"
    return f"{describe_model(model)} {verb} ({status})"


def is_too_long(error: Exception) -> bool:
    """Whether a server refused a prompt because it is too long."""
    return bool(_TOO_LONG.search(str(error)))


def _speaks_openai(model: BaseChatModel) -> TypeIs["ChatOpenAI"]:
    # The import is slow, and programs that use no server have not imported it.
    if "langchain_openai" not in sys.modules:
        return False
    from langchain_openai import ChatOpenAI

    return isinstance(model, ChatOpenAI)


def _explain_foreign(error: Exception, model: BaseChatModel) -> ModelError | None:
    """An error for other packages' models; None for our models, whose exceptions are defects."""
    ours = any(kind.__module__.startswith("rolellm_agents.") for kind in type(model).__mro__)
    if ours and not isinstance(error, RuntimeError):  # torch raises it, for example when memory is short
        return None
    reason = _shown(str(error), 160) or type(error).__name__
    return ModelError(f"{describe_model(model)} failed ({reason}); try again, or use another model.")


def _explain_connection(error: BaseException, name: str, place: str) -> ModelError:
    import httpx2

    causes = [error]
    while (cause := causes[-1].__cause__) is not None:
        causes.append(cause)
    if any(isinstance(cause, httpx2.ConnectError) for cause in causes):
        return ModelError(f"Nothing answers at {place} for {name}; is the server running there?")
    return ModelError(
        f"The connection to {place} broke before {name} had answered "
        f"({_shown(str(causes[-1]), 120).rstrip('.')}); try again, or look into the server's log."
    )


def _explain_refusal(message: str, status: int, name: str, place: str) -> ModelError:
    # openai's own messages begin with the status.
    reason = _shown(message.removeprefix(f"Error code: {status}").removeprefix(" - "), 160)
    details = f"{status}: {reason}" if reason else f"{status}"
    match status:
        case 401 | 403:
            return ModelError(
                f"{place} refuses the API key for {name} ({status}); set the right one in "
                "OPENAI_API_KEY, or in the variable that api_key_env names in models.toml."
            )
        case 404:
            return ModelError(
                f"{place} knows no {name} ({details}); check the model's name and the base URL."
            )
        case 429:
            return ModelError(f"{place} takes no more requests for {name} now (429); try again later.")
        case 400 | 413 | 422 | 500 if _TOO_LONG.search(message):
            return ContextLengthError(f"The message is too long for {name} ({reason}); shorten it.")
        case _ if status >= 500:
            return ModelError(f"{place} failed on {name} ({details}); try again later.")
        case _:
            return ModelError(
                f"{place} refuses the request for {name} ({details}); check the model's name and options."
            )


def _shown(text: str, width: int) -> str:
    """A server's words without secrets, since they get into answers, files and logs."""
    return one_line(masked(text), width)


_RATE_LIMIT = 429
_TOO_LONG = re.compile(r"context|too long|input token|reduce the length", re.IGNORECASE)

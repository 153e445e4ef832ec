"""Which requests' tools a model gets, and the model with these tools."""

from typing import Any, Final, Literal

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable

from rolellm_agents.models.llamacpp.files.gguf import known_name
from rolellm_agents.models.server_details import ServerDetails
from rolellm_graphs.role.replaced_model import with_model
from rolellm_graphs.server.wire import ChatRequest

ToolUse = Literal["pass", "when-required", "ignore"]
"""Tools are passed on to the model, only if the request requires a call, or never."""
ToolOption = Literal["pass", "ignore"]
"""What the server's owner may choose."""
_PROBE: Final = {"type": "function", "function": {"name": "probe", "parameters": {"type": "object"}}}


def tool_use_of(
    model: BaseChatModel, wished: ToolOption | None, details: ServerDetails | None = None
) -> ToolUse:
    """Which requests' tools a model gets.

    Args:
        model: the model that answers.
        wished: the owner's choice; None for the default. The embedded models are too small to decide
            whether to call a tool, so by default they get tools only if a call is required. A grammar then
            gives the call its form. A model of a server on this machine gets tools only if the server
            states that it can call them, because such servers refuse requests with tools otherwise.
        details: what a server on this machine states about the model; None for other models.
    """
    if not _can_call(model):
        return "ignore"
    if wished is not None:
        return wished
    if details is not None and "tools" not in details.abilities:
        return "ignore"
    file = getattr(model, "model_path", None)
    return "when-required" if file is not None and known_name(file) else "pass"


def gets_tools(request: ChatRequest, use: ToolUse) -> bool:
    """Whether the model gets the tools of a request."""
    if not request.tools or request.chosen_tool == "none":
        return False
    return use == "pass" or (use == "when-required" and request.chosen_tool is not None)


def with_tools(
    chat: BaseChatModel, model: BaseChatModel, request: ChatRequest
) -> Runnable[LanguageModelInput, AIMessage]:
    """A chat model with the tools of a request.

    Args:
        chat: what answers: the model itself, or a persona with the model inside.
        model: the model.
        request: a request with tools.
    """
    options: dict[str, Any] = {"tool_choice": request.chosen_tool} if request.chosen_tool else {}
    if request.parallel_tool_calls is not None:
        options["parallel_tool_calls"] = request.parallel_tool_calls
    tools = [tool.model_dump(exclude_none=True) for tool in request.tools or ()]
    bound = with_model(model.bind_tools(tools, **options), model, chat)
    if bound is None:  # `tool_use_of` has tried it
        raise NotImplementedError
    return bound


def _can_call(model: BaseChatModel) -> bool:
    """Whether tools can be bound to a model."""
    try:
        return with_model(model.bind_tools([_PROBE]), model, model) is not None
    except NotImplementedError:
        return False

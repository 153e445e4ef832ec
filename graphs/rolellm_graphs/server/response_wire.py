"""OpenAI's Responses API: its requests as those of chat completions, and its answers.

Text, tools and JSON schemas are supported. Responses are not stored, so `previous_response_id` is refused.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from rolellm_graphs.server.answers import WholeAnswer
from rolellm_graphs.server.failures import ApiError
from rolellm_graphs.server.invalid_requests import problem_of
from rolellm_graphs.server.tool_wire import ToolCall
from rolellm_graphs.server.wire import ChatRequest, UnicodeRequest, Usage

_TEXTS: Final = ("input_text", "output_text")
_SHARED: Final = ("model", "stream", "temperature", "top_p", "parallel_tool_calls")
_RENAMED: Final = {"messages": "input", "max_tokens": "max_output_tokens", "response_format": "text"}
_HARMLESS: Final = ("store", "include")
"""Fields that clients send with each request and that would change nothing."""


def _as_items(given: Any) -> Any:
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


class ResponseRequest(UnicodeRequest):
    """`POST /v1/responses`."""

    model_config = ConfigDict(extra="allow")

    model: str = Field(min_length=1, max_length=300)
    input: Annotated[
        list[dict[str, Any]],
        Field(max_length=4096),
        BeforeValidator(_as_items, json_schema_input_type=str | list[dict[str, Any]]),
    ]
    instructions: str | None = None
    stream: bool = False
    temperature: float | None = None
    top_p: float | None = None
    max_output_tokens: int | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    text: dict[str, Any] | None = None
    """The form of the answer, in `format`."""
    previous_response_id: None = None

    @property
    def ignored(self) -> list[str]:
        """The names of the sent fields that have no effect."""
        return sorted(set(self.model_extra or {}) - set(_HARMLESS))

    def as_chat(self) -> ChatRequest:
        """The same request for chat completions.

        Raises:
            ApiError: a field cannot be used.
        """
        fields: dict[str, Any] = {name: getattr(self, name) for name in _SHARED}
        instructions = [{"role": "system", "content": self.instructions}] if self.instructions else []
        fields |= {
            "messages": [*instructions, *_messages(self.input)],
            "max_tokens": self.max_output_tokens,
            "response_format": _response_format((self.text or {}).get("format")),
            "tools": [_nested(tool) for tool in self.tools or ()] or None,
            "tool_choice": _nested(self.tool_choice),
        }
        try:
            return ChatRequest.model_validate(fields)
        except ValidationError as error:
            raise _in_words(error, len(instructions)) from error


def _messages(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The items of an input as messages; reasoning of earlier answers is left out."""
    messages: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] | None = None  # those of the last message, while only calls follow
    for item in items:
        if item.get("type") != "function_call":
            calls = None
        match item:
            case {"type": "function_call"}:
                function = {"name": item.get("name"), "arguments": item.get("arguments") or ""}
                call = {"id": item.get("call_id"), "type": "function", "function": function}
                if calls is None:
                    calls = []
                    messages.append({"role": "assistant", "content": None, "tool_calls": calls})
                calls.append(call)
            case {"type": "function_call_output"}:
                content = _content(item.get("output"))
                messages.append({"role": "tool", "tool_call_id": item.get("call_id"), "content": content})
            case {"type": "reasoning"}:
                pass
            case _:
                messages.append({**item, "content": _content(item.get("content"))})
    return messages


def _content(content: Any) -> Any:
    """A message's content with the names of parts in chat completions."""
    if not isinstance(content, list):
        return content
    return [
        {**part, "type": "text"} if isinstance(part, dict) and part.get("type") in _TEXTS else part
        for part in content
    ]


def _nested(tool: Any) -> Any:
    """A function, or the choice of one, as chat completions have it: apart from its type."""
    if not isinstance(tool, dict) or tool.get("type") != "function" or "function" in tool:
        return tool
    return {"type": "function", "function": {key: tool[key] for key in tool if key != "type"}}


def _response_format(form: Any) -> Any:
    if isinstance(form, dict) and form.get("type") == "json_schema" and "schema" in form:
        described = {key: form[key] for key in form if key != "type"}
        return {"type": "json_schema", "json_schema": described}
    return form


def _in_words(error: ValidationError, instructions: int) -> ApiError:
    """The error with the names and places that the client has sent."""
    renamed: list[Mapping[str, Any]] = []
    for one in error.errors(include_url=False):
        field, *rest = one["loc"] or ("",)
        if field == "messages" and rest and isinstance(rest[0], int):
            rest[0] = max(0, rest[0] - instructions)
        renamed.append({**one, "loc": ("body", _RENAMED.get(str(field), field), *rest)})
    problem = problem_of(renamed)
    return ApiError(400, problem.message, code=problem.code, param=problem.param)


class OutputText(BaseModel):
    """The text of a message."""

    type: Literal["output_text"] = "output_text"
    text: str
    annotations: list[Any] = []


class OutputMessage(BaseModel):
    """A message of the answer."""

    type: Literal["message"] = "message"
    id: str
    role: Literal["assistant"] = "assistant"
    status: str
    content: list[OutputText]


class OutputCall(BaseModel):
    """A call of a tool."""

    type: Literal["function_call"] = "function_call"
    id: str
    call_id: str
    name: str
    arguments: str
    status: str


def response_object(
    head: Mapping[str, Any], request: ResponseRequest, answered: WholeAnswer | None
) -> dict[str, Any]:
    """The answer to `POST /v1/responses`.

    Args:
        head: id and time of creation.
        request: the request.
        answered: the complete answer; None while it is generated.
    """
    is_cut = answered is not None and answered.end.reason == "length"
    status = "incomplete" if is_cut else "completed"
    return {
        "id": head["id"],
        "object": "response",
        "created_at": head["created"],
        "status": status if answered else "in_progress",
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
        "instructions": request.instructions,
        "max_output_tokens": request.max_output_tokens,
        "metadata": {},
        "model": request.model,
        "output": output_of(head["id"], answered, status) if answered else [],
        "parallel_tool_calls": request.parallel_tool_calls is not False,
        "previous_response_id": None,
        "temperature": request.temperature,
        "text": request.text or {"format": {"type": "text"}},
        "tool_choice": request.tool_choice or "auto",
        "tools": request.tools or [],
        "top_p": request.top_p,
        "usage": _usage(answered.end.usage) if answered else None,
    }


def output_of(response_id: str, answered: WholeAnswer, status: str) -> list[dict[str, Any]]:
    """The items of an answer: its text, and the calls of tools."""
    items: list[BaseModel] = []
    if answered.text or not answered.calls:
        text = [OutputText(text=answered.text)]
        items.append(OutputMessage(id=item_id("msg", response_id, 0), status=status, content=text))
    for call in answered.calls:
        items.append(output_call(item_id("fc", response_id, len(items)), call))
    return [item.model_dump() for item in items]


def output_call(name: str, call: ToolCall) -> OutputCall:
    """A call as an item with an id of its own."""
    function = call.function
    return OutputCall(
        id=name, call_id=call.id, name=function.name, arguments=function.arguments, status="completed"
    )


def item_id(kind: str, response_id: str, place: int) -> str:
    """The id of an item of a response."""
    return f"{kind}_{response_id.removeprefix('resp_')}_{place}"


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.prompt_tokens_details.cached_tokens,
            "cache_write_tokens": 0,
        },
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.completion_tokens_details.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }

"""Tool calls: how tools are described, which grammar a call has, and how calls are read from an answer.

Calls are written as Hermes, Qwen and SmolLM do, `<tool_call>{"name": …, "arguments": {…}}</tool_call>`. A
grammar holds each call to its tool's schema, so that a call always parses. Templates that write calls in
this form describe the tools themselves; for other models an instruction does.
"""

import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from langchain_core.messages import AIMessageChunk, BaseMessage, SystemMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.engine.constraint import checked_grammar
from rolellm_agents.models.llamacpp.engine.finite import finite
from rolellm_agents.models.llamacpp.structured import closed
from rolellm_agents.models.llamacpp.template import CALL_ENDS, CALL_STARTS
from rolellm_agents.models.stop_strings import overlap
from rolellm_agents.text import did_you_mean

Tool = dict[str, Any] | type | Callable[..., Any] | BaseTool
"""What LangChain can describe as a tool."""
_COMPACT: Final = {"whitespace_flexible": False, "coerce_one_of": True}
_NO_ARGUMENTS: Final = {"type": "object", "properties": {}}


class ToolRequest(NamedTuple):
    """The tools of one call, in OpenAI's format."""

    tools: tuple[dict[str, Any], ...]
    required: bool
    """Whether the answer must be a call."""
    parallel: bool
    """Whether an answer may have several calls. A required call is single unless several are asked for,
    since small models would go on calling."""


def tool_options(
    tools: Sequence[Tool], tool_choice: Any = None, parallel_tool_calls: bool | None = None
) -> dict[str, Any]:
    """The options of a call of the model with these tools.

    Args:
        tools: pydantic classes, functions, LangChain's tools, or schemas in OpenAI's format.
        tool_choice: `auto`, `none`, `any` or `required`, or the name of the tool that must be called, also
            in OpenAI's format.
        parallel_tool_calls: whether an answer may have several calls; None for one if it is required, else
            for several.

    Raises:
        ModelError: there is no such tool.
    """
    described = [convert_to_openai_tool(tool) for tool in tools]
    choice = _choice(tool_choice, [tool["function"]["name"] for tool in described])
    return {
        "tools": described,
        "tool_choice": choice,
        "parallel_tool_calls": parallel_tool_calls,
    }


def tool_request(options: Mapping[str, Any]) -> ToolRequest | None:
    """The tools in a call's options; None if there are none, or none may be called.

    Raises:
        ModelError: a tool has no name, or there is no such tool.
    """
    tools = options.get("tools") or ()
    if not tools:
        return None
    described = [tool for tool in tools if isinstance(tool, dict) and _name(tool)]
    if len(described) != len(tools):
        raise ModelError("A tool has no name; describe it in OpenAI's format, or use bind_tools.")
    choice = _choice(options.get("tool_choice"), [_name(tool) for tool in described])
    if choice == "none":
        return None
    if choice not in ("auto", "any"):
        described = [tool for tool in described if _name(tool) == choice]
    several = options.get("parallel_tool_calls")
    required = choice != "auto"
    return ToolRequest(tuple(described), required, not required if several is None else bool(several))


def tool_grammar(request: ToolRequest, *, is_special: bool) -> str:
    """The grammar of answers with calls of these tools.

    Args:
        request: the tools.
        is_special: whether the vocabulary has the marks of calls as control tokens.

    Raises:
        ModelError: a tool's schema is invalid or too large.
    """
    start, end = (CALL_STARTS, CALL_ENDS) if is_special else (_quoted(CALL_STARTS), _quoted(CALL_ENDS))
    rules = [f"call_{number}: {_body(tool)} {end}" for number, tool in enumerate(request.tools)]
    any_call = " | ".join(f"call_{number}" for number in range(len(rules)))
    calls = f"calls: {any_call}"
    if request.required:
        again = f'("\\n" {start} calls)*' if request.parallel else ""
        lines = [f"start: {start} calls {again}", calls, *rules]
    else:
        # A lazy lexeme ends at the first mark, so text cannot contain one.
        opening = f"TEXT {start}" if is_special else "opened"
        opened = [] if is_special else [f"opened[lazy]: TEXT {start}"]
        many = "*" if request.parallel else "?"
        lines = [f"start: ({opening} calls){many} TEXT", calls, *opened, "TEXT: /(.|\\n)*/", *rules]
    return checked_grammar("\n".join(["%llguidance {}", *lines]))


def instructed(messages: Sequence[BaseMessage], request: ToolRequest) -> list[BaseMessage]:
    """The messages with an instruction that describes the tools, for templates that do not."""
    described = "\n".join(json.dumps(tool["function"], ensure_ascii=False) for tool in request.tools)
    text = (
        "You answer by calling functions with the values that the user gives, where a function helps.\n\n"
        f"Functions:\n{described}\n\n"
        "A call is written like this, with the user's own values; its result follows in <tool_response>:\n"
        f'{CALL_STARTS}{{"name": "NAME", "arguments": {{…}}}}{CALL_ENDS}'
    )
    first = messages[0] if messages else None
    if isinstance(first, SystemMessage):
        joined = first.model_copy(update={"content": f"{first.text}\n\n{text}"})
        return [joined, *messages[1:]]
    return [SystemMessage(text), *messages]


class ToolCallSplitter:
    """Divides a streamed answer into text and calls."""

    def __init__(self) -> None:
        """Begin in the text."""
        self.calls = 0
        """Number of calls so far."""
        self._held = ""
        self._in_call = self._after_call = False

    def push(self, text: str) -> list[ChatGenerationChunk]:
        """Add text, and return the chunks that are certain. A call is one chunk."""
        self._held += text
        chunks: list[ChatGenerationChunk] = []
        while (place := self._held.find(self._mark)) >= 0:
            before, self._held = self._held[:place], self._held[place + len(self._mark) :]
            chunks += self._call(before) if self._in_call else self._text(before)
            self._in_call = not self._in_call
        if not self._in_call:
            sure = len(self._held) - overlap(self._held, CALL_STARTS)
            chunks += self._text(self._held[:sure])
            self._held = self._held[sure:]
        return chunks

    def end(self) -> list[ChatGenerationChunk]:
        """The rest. The grammar does not end within a call, but a cancelled answer may."""
        rest, self._held = self._held, ""
        return [] if self._in_call else self._text(rest)

    @property
    def _mark(self) -> str:
        return CALL_ENDS if self._in_call else CALL_STARTS

    def _text(self, text: str) -> list[ChatGenerationChunk]:
        """Text; line breaks after a call are none."""
        said = text.lstrip() if self._after_call else text
        self._after_call = self._after_call and not said
        return [ChatGenerationChunk(message=AIMessageChunk(content=said))] if said else []

    def _call(self, text: str) -> list[ChatGenerationChunk]:
        call = json.loads(text)
        chunk = tool_call_chunk(
            name=call["name"],
            args=json.dumps(call["arguments"], ensure_ascii=False),
            id=f"call_{uuid.uuid4().hex[:16]}",
            index=self.calls,
        )
        self.calls += 1
        self._after_call = True
        return [ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=[chunk]))]


def _choice(choice: Any, names: Iterable[str]) -> str:
    known = list(names)
    match choice:
        case None | "auto" | False:
            return "auto"
        case "none":
            return "none"
        case True | "any" | "required":
            return "any"
        case {"function": {"name": str() as name}} | (str() as name) if name in known:
            return name
        case _:
            wanted = choice["function"].get("name") if _is_function(choice) else choice
            raise ModelError(
                f"There is no tool {wanted!r}{did_you_mean(str(wanted), known)}; there are "
                f"{', '.join(known)}."
            )


def _is_function(choice: Any) -> bool:
    return isinstance(choice, dict) and isinstance(choice.get("function"), dict)


def _name(tool: Mapping[str, Any]) -> str:
    function = tool.get("function")
    name = function.get("name") if isinstance(function, dict) else None
    return name if isinstance(name, str) else ""


def _body(tool: Mapping[str, Any]) -> str:
    """The rule of one call after the opening mark."""
    function = tool["function"]
    schema = finite(closed(function.get("parameters") or _NO_ARGUMENTS))
    arguments = json.dumps({**schema, "x-guidance": _COMPACT})
    opening = f'\n{{"name": {json.dumps(function["name"], ensure_ascii=False)}, "arguments": '
    return f"{_quoted(opening)} %json {arguments} {_quoted('}' + chr(10))}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)

"""Chat models for the tests of programs that use this library. They need no weights and no network.

`TestModel` invents a valid answer to any request. `FunctionModel` calls a function of yours. Both record
the prompt of each call in `calls` and its further arguments in `options`. `ScriptedChatModel`
(`get_model("scripted:Hello.")`) returns fixed replies in turn.
"""

import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage

from rolellm_agents.models.scripted import RecordingChatModel, Reply

_QUOTED = re.compile(r"""(?<!\w)['"“「]([^'"”」]+)['"”」](?!\w)""")


class FunctionModel(RecordingChatModel):
    """Answers with what a function returns for the prompt.

    The function returns a text, which is streamed by words; an `AIMessage`, for example with tool calls;
    or an iterator of texts, each of which becomes a chunk. Its exceptions are passed on to the caller.

    Example:
        ```python
        from rolellm_agents import FunctionModel

        model = FunctionModel(function=lambda messages: f"You said: {messages[-1].text}")
        assert model.invoke("Good day.").text == "You said: Good day."


        def breaks_off(messages):
            yield "I was about"
            raise ConnectionError


        model = FunctionModel(function=breaks_off)
        ```
    """

    function: Callable[[list[BaseMessage]], Reply]
    n_ctx: int | None = None
    """The context size that callers see, in tokens; they shorten longer prompts."""
    max_tokens: int | None = None

    def _reply_to(self, messages: list[BaseMessage], options: dict[str, Any]) -> Reply:
        return self.function(messages)

    @property
    def _llm_type(self) -> str:
        return "function"


class TestModel(RecordingChatModel):
    """Invents a valid answer to any request: the same prompt always gets the same answer.

    Without tools it answers with `text`, or with a sentence that quotes the end of the last message.
    With tools it calls each of them once, or the one that `tool_choice` names, with arguments that satisfy
    their schemas: numbers and quoted texts come from the last message if the schemas allow them. After the
    results it answers with text. `with_structured_output` invents objects in the same way. Another `seed`
    changes the text.

    Example:
        ```python
        from pydantic import BaseModel
        from rolellm_agents import TestModel


        class Grade(BaseModel):
            value: int
            reason: str


        grade = TestModel().with_structured_output(Grade).invoke("Grade this: 4")
        assert grade == Grade(value=4, reason="a")
        ```
    """

    __test__: ClassVar[bool] = False  # pytest would collect the class by its name

    text: str | None = None
    """The answer; derived from the prompt when None."""
    takes_tools: bool = True

    def _reply_to(self, messages: list[BaseMessage], options: dict[str, Any]) -> Reply:
        tools = _tools_to_call(options.get("tools") or [], options.get("tool_choice"), messages)
        if not tools:
            return self._text(messages, options) if self.text is None else self.text
        prompt = messages[-1].text
        numbers = [int(number) for number in re.findall(r"(?<!\w)-?\d+(?!\w)", prompt)]
        calls = []
        for place, tool in enumerate(tools):
            schema = tool.get("parameters", {})
            args = _example(schema, _Made(schema.get("$defs", {}), numbers, _QUOTED.findall(prompt)))
            id_ = f"call-{len(messages)}-{place}"
            calls.append(ToolCall(name=tool["name"], args=args, id=id_, type="tool_call"))
        return AIMessage("", tool_calls=calls)

    def _text(self, messages: list[BaseMessage], options: Mapping[str, Any]) -> str:
        prompt = "\x1f".join(f"{message.type}: {message.text}" for message in messages)
        digest = hashlib.sha256(f"{options.get('seed')}\x1f{prompt}".encode()).hexdigest()[:8]
        return f"Answer {digest} to “{' '.join(messages[-1].text.split()[-8:])}”."

    @property
    def _llm_type(self) -> str:
        return "test"


def _tools_to_call(
    tools: list[dict[str, Any]], choice: str | None, messages: list[BaseMessage]
) -> list[dict[str, Any]]:
    """The functions to call: the chosen one, or all, but none after the results of earlier calls."""
    functions: list[dict[str, Any]] = [tool["function"] for tool in tools]
    if chosen := [function for function in functions if function["name"] == choice]:
        return chosen
    if choice == "none" or (isinstance(messages[-1], ToolMessage) and choice in (None, "auto")):
        return []
    return functions


@dataclass(frozen=True)
class _Made:
    """The material for arguments: the schema's definitions, and the prompt's numbers and quoted texts."""

    definitions: Mapping[str, Any]
    numbers: Sequence[int]
    quoted: Sequence[str]


def _example(schema: Mapping[str, Any], material: _Made) -> Any:
    """A small value that satisfies a JSON schema; patterns and formats of strings are ignored."""
    if "$ref" in schema:
        return _example(material.definitions[schema["$ref"].rpartition("/")[2]], material)
    for fixed in ("const", "default"):
        if fixed in schema:
            return schema[fixed]
    if "enum" in schema:
        return schema["enum"][0]
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return _example(schema[choice][0], material)
    kind = schema.get("type", "object")
    return _EXAMPLES[kind if isinstance(kind, str) else kind[0]](schema, material)


def _object(schema: Mapping[str, Any], material: _Made) -> dict[str, Any]:
    properties = schema.get("properties", {})
    return {name: _example(properties[name], material) for name in schema.get("required", ())}


def _array(schema: Mapping[str, Any], material: _Made) -> list[Any]:
    items = schema.get("prefixItems") or [schema.get("items", {})] * schema.get("minItems", 1)
    return [_example(item, material) for item in items]


def _number(schema: Mapping[str, Any], material: _Made) -> float:
    """The first allowed number of the prompt's numbers, 0 and the bounds."""
    step = schema.get("multipleOf", 1)
    low = schema.get("minimum", schema.get("exclusiveMinimum", -math.inf) + step)
    high = schema.get("maximum", schema.get("exclusiveMaximum", math.inf) - step)
    allowed = (n for n in (*material.numbers, 0) if low <= n <= high and n % step == 0)
    least: float = low if math.isinf(low) else math.ceil(low / step) * step
    return next(allowed, high if math.isinf(low) else least)


def _string(schema: Mapping[str, Any], material: _Made) -> str:
    """The first allowed quoted text of the prompt, otherwise as many letters a as necessary."""
    least, most = schema.get("minLength", 0), schema.get("maxLength", math.inf)
    allowed = (text for text in material.quoted if least <= len(text) <= most)
    return next(allowed, "a" * min(max(1, least), most))


_EXAMPLES: Mapping[str, Callable[[Mapping[str, Any], _Made], Any]] = {
    "object": _object,
    "array": _array,
    "integer": _number,
    "number": _number,
    "string": _string,
    "boolean": lambda _schema, _material: False,
    "null": lambda _schema, _material: None,
}

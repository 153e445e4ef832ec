"""OpenAI's messages as LangChain's."""

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import invalid_tool_call, tool_call

from rolellm_graphs.server.tool_wire import ToolCall
from rolellm_graphs.server.wire import ChatMessage


def as_langchain(messages: Sequence[ChatMessage], *, tools: bool) -> list[BaseMessage]:
    """Convert a conversation.

    Args:
        messages: as the client sent them.
        tools: keep calls of tools and their results; if not, they are left out.
    """
    return [
        converted for message in messages if (converted := _converted(message, tools=tools)) is not None
    ]


def has_tool_messages(messages: Sequence[ChatMessage]) -> bool:
    """Whether a conversation has calls of tools or their results."""
    return any(message.role == "tool" or message.tool_calls for message in messages)


def has_function_messages(messages: Sequence[ChatMessage]) -> bool:
    """Whether a conversation has calls of functions, the former name of tools, or their results."""
    return any(message.role == "function" or message.function_call for message in messages)


def _converted(message: ChatMessage, *, tools: bool) -> BaseMessage | None:
    match message.role:
        case "user":
            return HumanMessage(message.text, name=message.name)
        case "assistant":
            calls = (message.tool_calls or []) if tools else []
            # A message that was only a call of a tool or of a function, which is its former name.
            is_empty = not message.text and not calls and message.has_calls
            return None if is_empty else AIMessage(message.text, name=message.name, **_calls(calls))
        case "tool":
            return ToolMessage(message.text, tool_call_id=message.tool_call_id or "") if tools else None
        case "function":
            return None
        case _:
            return SystemMessage(message.text, name=message.name)


def _calls(calls: Sequence[ToolCall]) -> dict[str, Any]:
    """The calls as fields of a message. Arguments that are no object stay as they were written."""
    valid, invalid = [], []
    for call in calls:
        name, written = call.function.name, call.function.arguments
        try:
            arguments = json.loads(written or "{}")
        except (ValueError, RecursionError):
            arguments = None
        if isinstance(arguments, dict):
            valid.append(tool_call(name=name, args=arguments, id=call.id))
        else:
            invalid.append(invalid_tool_call(name=name, args=written, id=call.id, error=None))
    return {"tool_calls": valid, "invalid_tool_calls": invalid}

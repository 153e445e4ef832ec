"""Tools and calls of tools in OpenAI's format."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class FunctionDefinition(BaseModel):
    """A function that the model may call."""

    model_config = ConfigDict(extra="allow")

    name: str = Field(min_length=1, max_length=200)
    description: str | None = None
    parameters: dict[str, Any] | None = None
    """A JSON Schema; none for a function without arguments."""


class ToolDefinition(BaseModel):
    """A tool; functions are the only kind."""

    type: Literal["function"]
    function: FunctionDefinition


class CalledFunction(BaseModel):
    """The name and arguments of a call."""

    name: str
    arguments: str = ""
    """A JSON object, as the model wrote it."""


class ToolCall(BaseModel):
    """A call of a tool in a message of the assistant."""

    id: str
    type: Literal["function"] = "function"
    function: CalledFunction


def chosen_tool(choice: Any, tools: list[ToolDefinition]) -> str | None:
    """The `tool_choice` of a request as LangChain's models take it.

    Args:
        choice: the field of the request.
        tools: the tools of the request.

    Returns:
        `none`; `any` if a call is required; the name of the tool that must be called; None if the model
        decides.

    Raises:
        ValueError: there is no such choice or tool.
    """
    match choice:
        case None | "auto":
            return None
        case "none":
            return "none"
        case "required" | "any":
            return "any"
        case {"type": "function", "function": {"name": str() as name}}:
            names = [tool.function.name for tool in tools]
            if name not in names:
                raise ValueError(
                    f"there is no tool {name!r} among the tools of this request; name one of them"
                )
            return name
        case _:
            raise ValueError('it must be "none", "auto", "required" or a tool of the type "function"')

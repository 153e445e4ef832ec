"""A scripted model that takes tools, and calls them when its script says so."""

from langchain_core.messages import AIMessage, ToolCall

from rolellm_agents.models.scripted import ScriptedChatModel


def tool_calling_model(*replies: AIMessage) -> ScriptedChatModel:
    """A model with these replies in turn, which raises when it is asked once more."""
    return ScriptedChatModel(replies=[*replies], takes_tools=True, once=True)


def calling(name: str, /, **args: object) -> AIMessage:
    """A message that calls one tool."""
    return AIMessage("", tool_calls=[ToolCall(name=name, args=args, id=f"call-{name}", type="tool_call")])

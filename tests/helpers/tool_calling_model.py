"""A scripted model that takes tools, and calls them when its script says so."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field


class ToolCallingModel(BaseChatModel):
    """Gives its `replies` in turn; `calls` and `options` hold what it was asked, and with what."""

    replies: list[AIMessage]
    calls: list[list[BaseMessage]] = Field(default_factory=list)
    options: list[dict[str, Any]] = Field(default_factory=list)

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        formatted = [convert_to_openai_tool(tool) for tool in tools]
        return self.bind(tools=formatted, tool_choice=tool_choice, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._next(messages, kwargs))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        reply = self._next(messages, kwargs)
        yield ChatGenerationChunk(
            message=AIMessageChunk(
                content=reply.content, tool_calls=reply.tool_calls, chunk_position="last"
            )
        )

    def _next(self, messages: list[BaseMessage], options: dict[str, Any]) -> AIMessage:
        self.calls.append(list(messages))
        self.options.append(options)
        return self.replies[len(self.calls) - 1].model_copy()

    @property
    def _llm_type(self) -> str:
        return "tool-calling"


def calling(name: str, /, **args: Any) -> AIMessage:
    """A message that calls one tool."""
    return AIMessage("", tool_calls=[ToolCall(name=name, args=args, id=f"call-{name}", type="tool_call")])

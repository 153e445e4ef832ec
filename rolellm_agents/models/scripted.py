"""Chat models for tests: they record each call, and reply with predefined texts."""

import re
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any

from langchain_core.language_models import LangSmithParams, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ConfigDict, Field, PrivateAttr

from rolellm_agents.errors import ModelError
from rolellm_agents.models.threaded import ThreadedChatModel

Reply = str | AIMessage | Iterable[str]
"""A text, which is streamed by words; a message, which is one chunk; or the texts of the chunks."""


ScriptedReply = Annotated[str | Exception | AIMessage, Field(union_mode="left_to_right")]


class RecordingChatModel(ThreadedChatModel):
    """Base of the models for tests: records each call, and streams what `_reply_to` returns."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    seconds_per_word: float = 0.0
    """Seconds that each word takes."""
    calls: list[list[BaseMessage]] = Field(default_factory=list)
    """The prompt of each call, oldest first."""
    options: list[dict[str, Any]] = Field(default_factory=list)
    """The further arguments of each call (`seed`, `max_tokens`, `tools`, …), oldest first."""
    kept: int | None = Field(default=None, ge=1)
    """How many of the last calls stay in `calls` and `options`; all when None."""
    takes_tools: bool = False
    """Whether `bind_tools` and `with_structured_output` work; if not, they raise NotImplementedError."""

    @abstractmethod
    def _reply_to(self, messages: list[BaseMessage], options: dict[str, Any]) -> Reply:
        """Return the reply to a prompt."""

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Pass the tools on to each call, in OpenAI's format, as `options["tools"]`.

        Raises:
            NotImplementedError: `takes_tools` is not set.
        """
        if not self.takes_tools:
            raise NotImplementedError("This model does not support tools.")
        return self.bind(
            tools=[convert_to_openai_tool(tool) for tool in tools], tool_choice=tool_choice, **kwargs
        )

    def _chunks(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None,
        options: dict[str, Any],
        should_stop: Callable[[], bool],
    ) -> Iterator[ChatGenerationChunk]:
        self.calls.append(list(messages))
        self.options.append(options)
        if self.kept is not None:
            del self.calls[: -self.kept], self.options[: -self.kept]
        reply = self._reply_to(messages, options)
        words = 0
        for part in _parts(reply, stop or ()):
            time.sleep(self.seconds_per_word)
            if should_stop():
                return
            words += 1
            yield ChatGenerationChunk(message=part)
        read = sum(len(message.text.split()) for message in messages)
        usage = UsageMetadata(input_tokens=read, output_tokens=words, total_tokens=read + words)
        metadata = {"model_name": self._llm_type, "finish_reason": "stop"}
        yield ChatGenerationChunk(
            message=AIMessageChunk(
                content="", usage_metadata=usage, response_metadata=metadata, chunk_position="last"
            )
        )

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        params = super()._get_ls_params(stop=stop, **kwargs)
        params["ls_provider"] = params["ls_model_name"] = self._llm_type
        return params


def _parts(reply: Reply, stop: Sequence[str]) -> Iterator[AIMessageChunk]:
    """The chunks of a reply; `stop` cuts only a reply that is one text."""
    if isinstance(reply, AIMessage):
        yield AIMessageChunk(content=reply.content, tool_calls=reply.tool_calls)
        return
    if isinstance(reply, str):
        for mark in stop:
            reply = reply.partition(mark)[0]
        reply = re.findall(r"\s*\S+|\s+$", reply)
    for text in reply:
        yield AIMessageChunk(content=text)


class ScriptedChatModel(RecordingChatModel):
    """Answers with its `replies` in turn; an exception among them is raised.

    After the last reply it begins again, unless `once` is set; then it raises, so that a test that
    asks too often fails. Without replies it repeats the last message.
    """

    replies: list[ScriptedReply] = Field(default_factory=list)
    once: bool = False

    _next: int = PrivateAttr(default=0)

    def _reply_to(self, messages: list[BaseMessage], options: dict[str, Any]) -> Reply:
        if not self.replies:
            return messages[-1].text
        if self.once and self._next >= len(self.replies):
            raise ModelError(f"The scripted model has no reply left after {len(self.replies)}.")
        reply = self.replies[self._next % len(self.replies)]
        self._next += 1
        if isinstance(reply, Exception):
            raise reply
        return reply

    @property
    def _llm_type(self) -> str:
        return "scripted"

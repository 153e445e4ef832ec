"""Answers of a chat model: a persona's, or a model's own."""

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from http import HTTPStatus
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata

from rolellm_agents.errors import AnswerFormatError
from rolellm_agents.models.failures import explain_failure
from rolellm_agents.models.local import LocalModel
from rolellm_agents.models.reasoning import REASONING
from rolellm_graphs.server.abilities import can_prescribe
from rolellm_graphs.server.answers import AnswerChunk, AnswerEnd, AnswerPart, CallChunk
from rolellm_graphs.server.failures import ApiError
from rolellm_graphs.server.langchain_messages import (
    as_langchain,
    has_function_messages,
    has_tool_messages,
)
from rolellm_graphs.server.tool_use import ToolUse, gets_tools, with_tools
from rolellm_graphs.server.wire import ChatRequest, CompletionDetails, PromptDetails, Usage

_OPENAI = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "response_format")
"""Sampling fields that every model supports."""
_LLAMA = ("top_k", "min_p", "repeat_penalty")
"""Further sampling fields of models in this process."""
_TOOLS = ("tools", "tool_choice", "parallel_tool_calls")

Prepare = Callable[[Sequence[BaseMessage]], list[BaseMessage]]
"""Checks a client's messages and returns those that the chat model gets; raises ApiError."""


class ModelAgent:
    """A chat model, alone or as a persona, that answers clients' conversations."""

    def __init__(
        self,
        name: str,
        chat: BaseChatModel,
        model: BaseChatModel,
        *,
        prepare: Prepare,
        tools: ToolUse,
        max_tokens: int,
        persona: str | None = None,
    ) -> None:
        """Create the agent; nothing is loaded yet.

        Args:
            name: the `model` of its answers.
            chat: what answers: the model itself with its reasoning apart, or a persona.
            model: the model that generates the answers.
            prepare: checks and changes a client's messages.
            tools: which requests' tools the model gets.
            max_tokens: the maximum length of an answer in tokens.
            persona: the persona's id, if one answers.
        """
        self.name = name
        self.persona = persona
        self._chat = chat
        self._model = model
        self._prepare = prepare
        self._tools = tools
        self._takes_forms = can_prescribe(model)
        self._max_tokens = max_tokens

    def ignored(self, request: ChatRequest) -> list[str]:
        """The fields of a request that have no effect; see `Agent`."""
        names = [] if gets_tools(request, self._tools) else list(_TOOLS)
        names += [] if isinstance(self._model, LocalModel) else _LLAMA
        names += [] if self._takes_forms else ["response_format"]
        unused = [name for name in names if getattr(request, name) not in (None, [])]
        if self._tools == "ignore" and has_tool_messages(request.messages):
            unused.append("messages.tool_calls")
        if has_function_messages(request.messages):
            unused.append("messages.function_call")
        return unused

    async def answer(self, request: ChatRequest, seed: int | None) -> AsyncGenerator[AnswerPart, None]:
        """Answer the last message; see `Agent`.

        Raises:
            ApiError: the messages cannot be answered, or a tool's schema cannot be used.
            RoleLLMError: the model cannot answer.
        """
        messages = self._prepare(as_langchain(request.messages, tools=self._tools != "ignore"))
        has_tools = gets_tools(request, self._tools)
        chat = with_tools(self._chat, self._model, request) if has_tools else self._chat
        metadata = AIMessageChunk(content="")
        calls = _Calls()
        try:
            stream = chat.astream(messages, stop=request.stop_strings, **self._options(request, seed))
            async with aclosing(stream) as chunks:  # type: ignore[type-var]  # a generator, typed as less
                async for chunk in chunks:
                    metadata = _with_metadata(metadata, chunk)
                    if thought := chunk.additional_kwargs.get(REASONING):
                        yield AnswerChunk(thought, is_reasoning=True)
                    if chunk.text:
                        yield AnswerChunk(chunk.text)
                    for call in calls.in_chunk(chunk):
                        yield call
        except AnswerFormatError as error:
            if not has_tools or request.response_format:
                raise
            raise ApiError(
                HTTPStatus.BAD_REQUEST, str(error), code="invalid_function_parameters", param="tools"
            ) from error
        except Exception as error:
            explained = explain_failure(error, self._model)
            if explained is None or explained is error:
                raise
            raise explained from error
        told = metadata.response_metadata
        reason = (
            "length" if told.get("finish_reason") == "length" else "tool_calls" if calls.count else "stop"
        )
        yield AnswerEnd(
            reason, usage_of(metadata.usage_metadata), dropped=int(told.get("dropped_messages") or 0)
        )

    def _options(self, request: ChatRequest, seed: int | None) -> dict[str, Any]:
        names = (*_OPENAI, *_LLAMA) if isinstance(self._model, LocalModel) else _OPENAI
        options = {name: getattr(request, name) for name in names}
        limit = getattr(self._model, "max_tokens", None) or self._max_tokens
        options |= {"max_tokens": min(request.longest or limit, self._max_tokens)}
        options |= {"seed": seed}
        return {name: value for name, value in options.items() if value is not None}


class _Calls:
    """The calls of tools in an answer's chunks, numbered in order."""

    def __init__(self) -> None:
        self.count = 0
        self._numbers: dict[Any, int] = {}

    def in_chunk(self, chunk: AIMessage) -> list[CallChunk]:
        """The calls of a chunk, or their next pieces."""
        if isinstance(chunk, AIMessageChunk):
            pieces = [(one["index"], one["id"], one["name"], one["args"]) for one in chunk.tool_call_chunks]
        else:  # the answer of a model that does not stream
            pieces = [
                (None, one["id"], one["name"], json.dumps(one["args"], ensure_ascii=False))
                for one in chunk.tool_calls
            ]
        return [
            CallChunk(self._number(index, is_new=bool(name)), call_id, name, arguments or "")
            for index, call_id, name, arguments in pieces
        ]

    def _number(self, index: Any, *, is_new: bool) -> int:
        """The number of a call. Models that send complete calls may not number them."""
        key = ("unnumbered", self.count if is_new else self.count - 1) if index is None else index
        if key not in self._numbers:
            self._numbers[key] = self.count
            self.count += 1
        return self._numbers[key]


def usage_of(metadata: UsageMetadata | None) -> Usage:
    """Token counts in OpenAI's format; zero if unknown."""
    if metadata is None:
        return Usage()
    details = PromptDetails(cached_tokens=metadata.get("input_token_details", {}).get("cache_read", 0))
    thought = metadata.get("output_token_details", {}).get("reasoning", 0)
    return Usage(
        prompt_tokens=metadata["input_tokens"],
        completion_tokens=metadata["output_tokens"],
        total_tokens=metadata["total_tokens"],
        prompt_tokens_details=details,
        completion_tokens_details=CompletionDetails(reasoning_tokens=thought),
    )


def _with_metadata(metadata: AIMessageChunk, chunk: AIMessage) -> AIMessageChunk:
    """The last chunk without its content, for metadata."""
    if not chunk.usage_metadata and not chunk.response_metadata:
        return metadata
    told = AIMessageChunk(
        content="", usage_metadata=chunk.usage_metadata, response_metadata=chunk.response_metadata
    )
    return metadata + told

"""Chat models whose answers have the model's reasoning apart.

Our own models do this themselves. `separated` adds it to any other chat model.
"""

# ruff: noqa: SLF001  # a LangChain chat model implements its private methods by those of the model inside

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any, ClassVar

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LangSmithParams
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult

from rolellm_agents.models.reasoning import ReasoningChunks, separated_result

_SHARED = ("cache", "callbacks", "tags", "metadata", "disable_streaming", "rate_limiter")
"""Fields of LangChain's base class that act where a model is called."""


def separated(model: BaseChatModel) -> BaseChatModel:
    """The model itself if it separates its reasoning, else a model around it that does."""
    # Tests and examples use other runnables in place of models.
    if getattr(model, "separates_reasoning", False) or not isinstance(model, BaseChatModel):
        return model
    shared = {name: getattr(model, name) for name in _SHARED if getattr(model, name, None) is not None}
    return SeparatedChatModel(model=model, **shared)


class SeparatedChatModel(BaseChatModel):
    """Another chat model, with the reasoning of its answers apart."""

    separates_reasoning: ClassVar[bool] = True

    model: BaseChatModel

    def get_token_ids(self, text: str) -> list[int]:
        """The tokens of the model inside for `text`."""
        return self.model.get_token_ids(text)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return separated_result(self.model._generate(messages, stop, None, **kwargs))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return separated_result(await self.model._agenerate(messages, stop, None, **kwargs))

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        if type(self.model)._stream is BaseChatModel._stream:
            yield from _as_chunks(self._generate(messages, stop, run_manager, **kwargs))
            return
        separator = ReasoningChunks()
        for chunk in self.model._stream(messages, stop, None, **kwargs):
            yield from separator.push(chunk)
        yield from separator.end()

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        kind = type(self.model)
        if kind._astream is BaseChatModel._astream and kind._stream is BaseChatModel._stream:
            for chunk in _as_chunks(await self._agenerate(messages, stop, run_manager, **kwargs)):
                yield chunk
            return
        separator = ReasoningChunks()
        answer = self.model._astream(messages, stop, None, **kwargs)
        async with aclosing(answer) as chunks:  # type: ignore[type-var]  # all models' are generators
            async for chunk in chunks:
                for part in separator.push(chunk):
                    yield part
        for part in separator.end():
            yield part

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        return self.model._get_ls_params(stop=stop, **kwargs)

    @property
    def _llm_type(self) -> str:
        return self.model._llm_type

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return dict(self.model._identifying_params)


def _as_chunks(result: ChatResult) -> Iterator[ChatGenerationChunk]:
    """The answer of a model that cannot stream, as one chunk."""
    message = result.generations[0].message
    fields = message.model_dump(exclude={"type"})
    yield ChatGenerationChunk(message=AIMessageChunk(**fields))

"""A base class for models in this process that implement one stream of chunks.

For async callers the stream runs in a thread, so that it does not block the event loop.
"""

import asyncio
import threading
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing
from typing import Any, ClassVar

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGenerationChunk

from rolellm_agents.models.reasoning import ReasoningChunks
from rolellm_agents.models.streamed import StreamedChatModel

Chunks = Callable[[Callable[[], bool]], Iterator[ChatGenerationChunk]]
"""Yields the chunks of one answer; its argument returns whether to stop early."""


async def stream_in_thread(chunks: Chunks) -> AsyncGenerator[ChatGenerationChunk, None]:
    """Compute an answer in a thread, and pass its chunks to the event loop.

    Closing the stream stops the thread and waits for it, so that the model is free again.
    """
    abandoned = threading.Event()
    queue: asyncio.Queue[ChatGenerationChunk | None] = asyncio.Queue()
    put = asyncio.get_running_loop().call_soon_threadsafe

    def compute() -> None:
        try:
            for chunk in chunks(abandoned.is_set):
                put(queue.put_nowait, chunk)
        finally:
            put(queue.put_nowait, None)

    thread = asyncio.ensure_future(asyncio.to_thread(compute))
    try:
        while (chunk := await queue.get()) is not None:
            yield chunk
        await thread
    finally:
        abandoned.set()
        await asyncio.wait([thread])
        thread.exception()  # retrieve it, or asyncio would log that it was never retrieved


class ThreadedChatModel(StreamedChatModel):
    """A chat model that derives all calls from `_chunks`; reasoning is separated from its answers."""

    separates_reasoning: ClassVar[bool] = True

    @abstractmethod
    def _chunks(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None,
        options: dict[str, Any],
        should_stop: Callable[[], bool],
    ) -> Iterator[ChatGenerationChunk]:
        """Yield the chunks of one answer.

        Args:
            messages: the prompt.
            stop: strings that end the answer and are not part of it.
            options: further arguments of the call, such as `seed` or `max_tokens`.
            should_stop: call it between the chunks; when it returns True, end the answer early.
        """

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        separator = ReasoningChunks()
        for chunk in self._chunks(messages, stop, kwargs, lambda: False):
            yield from separator.push(chunk)
        yield from separator.end()

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        async with aclosing(
            stream_in_thread(lambda should_stop: self._chunks(messages, stop, kwargs, should_stop))
        ) as chunks:
            separator = ReasoningChunks()
            async for chunk in chunks:
                for part in separator.push(chunk):
                    yield part
            for part in separator.end():
                yield part

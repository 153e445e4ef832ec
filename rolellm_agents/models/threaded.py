"""Models that compute in this process: one stream of chunks serves every way of calling them.

Async callers get it from a thread, so that the event loop is not held up.
"""

import asyncio
import threading
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGenerationChunk

from rolellm_agents.models.streamed import StreamedChatModel

Chunks = Callable[[Callable[[], bool]], Iterator[ChatGenerationChunk]]
"""Makes the chunks of one answer; its argument tells, when asked, whether to stop early."""


async def stream_in_thread(chunks: Chunks) -> AsyncGenerator[ChatGenerationChunk, None]:
    """Compute an answer in a thread and hand its chunks to the event loop.

    When nobody listens any more, the thread is told to stop and waited for, so that the model is free
    again when the stream is closed.
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
        thread.exception()  # nobody listens any more; asked for, it is not told as never retrieved


class ThreadedChatModel(StreamedChatModel):
    """A chat model that is wholly described by its `_chunks`."""

    @abstractmethod
    def _chunks(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None,
        options: dict[str, Any],
        should_stop: Callable[[], bool],
    ) -> Iterator[ChatGenerationChunk]:
        """One answer, piece by piece.

        Args:
            messages: the prompt.
            stop: strings that end the answer and are not part of it.
            options: what this call was given besides, such as `seed` or `max_tokens`.
            should_stop: to be asked between the pieces; when true the answer ends early.
        """

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        return self._chunks(messages, stop, kwargs, lambda: False)

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
            async for chunk in chunks:
                yield chunk

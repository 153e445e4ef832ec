"""From a model that computes in this process to an async stream, without holding up the event loop."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterator

from langchain_core.outputs import ChatGenerationChunk

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

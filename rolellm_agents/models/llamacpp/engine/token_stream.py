"""Token streams: iterators and async iterators over an answer of the engine's thread.

Both are context managers. Leaving one early cancels the answer, and returns when the model is free again.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.engine.jobs import AnswerJob, Finished, StreamItem

Submit = Callable[[Callable[[StreamItem], None]], AnswerJob]
"""Submits a request; the given function is called with each item of the answer's stream."""
Leaving = tuple[type[BaseException] | None, BaseException | None, TracebackType | None]
"""The arguments of a context manager's exit method."""


class TokenStream:
    """An iterator over an answer; the last item is a `Finished`, or a ModelError is raised."""

    def __init__(self, submit: Submit) -> None:
        """Submit the request."""
        self._received: queue.SimpleQueue[StreamItem] = queue.SimpleQueue()
        self._part: StreamItem = ""
        self._answer = submit(self._received.put)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *leaving: *Leaving) -> None:
        self._answer.cancel()
        while isinstance(self._part, str):
            self._part = self._received.get()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str | Finished:
        if not isinstance(self._part, str):
            raise StopIteration
        self._part = self._received.get()
        return _not_failed(self._part)


class AsyncTokenStream:
    """An async iterator over an answer; see `TokenStream`.

    It is not an async generator, because an ending event loop closes nested async generators concurrently.
    """

    def __init__(self, submit: Submit) -> None:
        """Prepare the request, in a running event loop; entering the stream submits it."""
        self._received: asyncio.Queue[StreamItem] = asyncio.Queue()
        self._part: StreamItem = ""
        self._ended = threading.Event()
        self._loop = asyncio.get_running_loop()
        self._submit = submit
        self._answer: AnswerJob | None = None

    def _on_item(self, part: StreamItem) -> None:
        if not isinstance(part, str):
            self._ended.set()
        self._loop.call_soon_threadsafe(self._received.put_nowait, part)

    async def __aenter__(self) -> Self:
        # In a thread, because a large schema takes long to compile. The thread cannot be stopped.
        submitting = asyncio.ensure_future(asyncio.to_thread(self._submit, self._on_item))
        try:
            self._answer = await asyncio.shield(submitting)
        except asyncio.CancelledError:
            await asyncio.wait([submitting])
            if submitting.exception() is None:
                await self._leave(submitting.result())
            raise
        return self

    async def __aexit__(self, *leaving: *Leaving) -> None:
        if self._answer is not None:
            await self._leave(self._answer)

    async def _leave(self, answer: AnswerJob) -> None:
        answer.cancel()
        if isinstance(self._part, str):
            # In a thread, because a closing event loop waits for its threads.
            await asyncio.to_thread(self._ended.wait)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str | Finished:
        if not isinstance(self._part, str):
            raise StopAsyncIteration
        self._part = await self._received.get()
        return _not_failed(self._part)


def _not_failed(part: StreamItem) -> str | Finished:
    if isinstance(part, ModelError):
        raise part
    return part

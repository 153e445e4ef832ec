"""From the engine's thread to whoever listens: an iterator, or an async one.

Both are contexts: leaving one early ends the answer, and returns when the model is free again.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.engine.jobs import AnswerJob, Finished, StreamItem

Ask = Callable[[Callable[[StreamItem], None]], AnswerJob]
"""Submits a request whose parts go to the given listener."""
Leaving = tuple[type[BaseException] | None, BaseException | None, TracebackType | None]
"""What a context is told when it is left."""


class TokenStream:
    """An answer being heard in a thread; its last part is a `Finished`, or a ModelError is raised."""

    def __init__(self, ask: Ask) -> None:
        """Ask."""
        self._heard: queue.SimpleQueue[StreamItem] = queue.SimpleQueue()
        self._part: StreamItem = ""
        self._answer = ask(self._heard.put)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *leaving: *Leaving) -> None:
        self._answer.cancel()
        while isinstance(self._part, str):
            self._part = self._heard.get()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str | Finished:
        if not isinstance(self._part, str):
            raise StopIteration
        self._part = self._heard.get()
        return _not_failed(self._part)


class AsyncTokenStream:
    """The same in an event loop.

    No async generator: at its end an event loop closes those in no order, one in another at once.
    """

    def __init__(self, ask: Ask) -> None:
        """Ask, in a running event loop."""
        self._heard: asyncio.Queue[StreamItem] = asyncio.Queue()
        self._part: StreamItem = ""
        self._ended = threading.Event()
        self._loop = asyncio.get_running_loop()
        self._answer = ask(self._hear)

    def _hear(self, part: StreamItem) -> None:
        if not isinstance(part, str):
            self._ended.set()
        self._loop.call_soon_threadsafe(self._heard.put_nowait, part)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *leaving: *Leaving) -> None:
        self._answer.cancel()
        if isinstance(self._part, str):
            # In a thread, since for threads a loop waits that is about to close.
            await asyncio.to_thread(self._ended.wait)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str | Finished:
        if not isinstance(self._part, str):
            raise StopAsyncIteration
        self._part = await self._heard.get()
        return _not_failed(self._part)


def _not_failed(part: StreamItem) -> str | Finished:
    if isinstance(part, ModelError):
        raise part
    return part

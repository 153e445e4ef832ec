"""A graph at work: its stream is taken in a task of its own, so that what waits comes together."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any


class GraphRun:
    """The parts of one graph's stream, as LangGraph yields them."""

    def __init__(self, stream: AsyncIterator[Any]) -> None:
        """Hold a stream; `batches` sets it going."""
        self._stream = stream
        self._parts: asyncio.Queue[Any] = asyncio.Queue()
        self._work: asyncio.Task[None] | None = None
        self._cancelled = False

    def cancel(self) -> None:
        """Stop the graph; `batches` then ends with what has come by then."""
        self._cancelled = True
        if self._work is not None:
            self._work.cancel()

    async def batches(self) -> AsyncGenerator[list[Any], None]:
        """Wait for a part, and yield all that have come by then, until the graph ends.

        Raises:
            Exception: whatever went wrong in the graph, after the last parts.
        """
        work = self._work = asyncio.create_task(self._take())
        # The end of it, however it comes, ends the queue.
        work.add_done_callback(lambda _: self._parts.put_nowait(None))
        if self._cancelled:
            work.cancel()
        try:
            while parts := await self._waiting():
                yield parts
            if not work.cancelled():
                work.result()
        finally:
            work.cancel()

    async def _take(self) -> None:
        async for part in self._stream:
            self._parts.put_nowait(part)

    async def _waiting(self) -> list[Any]:
        """All parts that wait, at least one; an empty list is the end."""
        parts = [await self._parts.get()]
        while not self._parts.empty():
            parts.append(self._parts.get_nowait())
        if parts[-1] is None:
            parts.pop()
            if parts:
                self._parts.put_nowait(None)
        return parts

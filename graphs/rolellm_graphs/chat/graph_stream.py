"""A graph's stream that other tasks can stop."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, Self


class GraphStream:
    """The parts of one graph's stream, straight from LangGraph; use it with `aclosing`.

    Nothing buffers parts between LangGraph's queue and the reader. `cancel` interrupts the reading task, as
    `asyncio.timeout` does, and only while it waits for a part.
    """

    def __init__(self, stream: AsyncGenerator[Any, None]) -> None:
        """Wrap a stream; the graph starts when the first part is read."""
        self._stream = stream
        self._reader: asyncio.Task[Any] | None = None
        self._cancelled = False
        self._interrupted = False

    def cancel(self) -> None:
        """Stop the graph; its stream then ends."""
        self._cancelled = True
        if self._reader is not None and not self._interrupted:
            self._interrupted = self._reader.cancel()

    async def aclose(self) -> None:
        """Stop the graph, and wait until its model is free again."""
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        if self._cancelled:
            raise StopAsyncIteration
        self._reader = reader = asyncio.current_task()
        try:
            return await anext(self._stream)
        except asyncio.CancelledError:
            if self._interrupted and reader is not None and reader.cancelling() == 1:
                raise StopAsyncIteration from None
            raise  # the task was cancelled from outside
        finally:
            self._reader = None
            if self._interrupted and reader is not None:
                reader.uncancel()

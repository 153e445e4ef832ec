"""An event loop in a thread of its own, while the main thread waits for input."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from types import TracebackType
from typing import Any, Self, TypeVar

Result = TypeVar("Result")

_BLINK = 0.2


class BackgroundLoop:
    """A context manager that runs coroutines in a thread, and cancels unfinished ones at its end."""

    def __init__(self) -> None:
        """Create the loop."""
        self._loop: asyncio.AbstractEventLoop
        self._ended: asyncio.Event
        self._ready = threading.Event()
        self._thread = threading.Thread(target=asyncio.run, args=(self._live(),), name="conversation")

    def __enter__(self) -> Self:
        """Start the thread."""
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Cancel unfinished tasks and wait for their cleanup."""
        self.call(self._ended.set)
        self._thread.join()

    def begin(self, work: Coroutine[Any, Any, Result]) -> "Future[Result]":
        """Run a coroutine in the loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def call(self, function: Callable[[], object]) -> None:
        """Call a function soon in the loop's thread."""
        self._loop.call_soon_threadsafe(function)

    def wait_for(self, work: "Future[Result]") -> Result:
        """Wait for a result. Ctrl-C ends the waiting, not the task."""
        while not work.done():
            # On Windows Ctrl-C takes effect only between waits, so each is short.
            wait([work], timeout=_BLINK)
        return work.result()

    async def _live(self) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        self._ready.set()
        await self._ended.wait()

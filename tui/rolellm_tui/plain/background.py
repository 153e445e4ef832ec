"""An event loop in a thread of its own, for a program whose main thread waits for a person."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from types import TracebackType
from typing import Any, Self, TypeVar

Result = TypeVar("Result")

_BLINK = 0.2


class BackgroundLoop:
    """Runs coroutines from its `with` to the end of it; those that still run then are cancelled."""

    def __init__(self) -> None:
        """Nothing runs yet."""
        self._loop: asyncio.AbstractEventLoop
        self._ended: asyncio.Event
        self._ready = threading.Event()
        self._thread = threading.Thread(target=asyncio.run, args=(self._live(),), name="conversation")

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Cancel what still runs, and wait until it has tidied up."""
        self.call(self._ended.set)
        self._thread.join()

    def begin(self, work: Coroutine[Any, Any, Result]) -> "Future[Result]":
        """Run something beside the main thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def call(self, function: Callable[[], object]) -> None:
        """Call a function soon in the loop's thread."""
        self._loop.call_soon_threadsafe(function)

    def wait_for(self, work: "Future[Result]") -> Result:
        """What it comes to; Ctrl-C ends the waiting, not the work."""
        while not work.done():
            # On Windows Ctrl-C waits for the end of a wait, so each is short.
            wait([work], timeout=_BLINK)
        return work.result()

    async def _live(self) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        self._ready.set()
        await self._ended.wait()

"""From the engine's thread to whoever listens: an iterator, or an async one."""

import asyncio
import queue
from collections.abc import AsyncGenerator, Callable, Generator

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.jobs import Answer, Finished, Heard

Ask = Callable[[Callable[[Heard], None]], Answer]
"""Submits a request whose parts go to the given listener."""


def listen(ask: Ask) -> Generator[str | Finished, None, None]:
    """Hear an answer. Whoever leaves early ends it, and returns when the model is free again.

    Raises:
        ModelError: the answer failed.
    """
    heard: queue.SimpleQueue[Heard] = queue.SimpleQueue()
    answer = ask(heard.put)
    part: Heard = ""
    try:
        while isinstance(part, str):
            part = heard.get()
            yield _not_failed(part)
    finally:
        answer.cancel()
        while isinstance(part, str):
            part = heard.get()


async def listen_async(ask: Ask) -> AsyncGenerator[str | Finished, None]:
    """Hear an answer in an event loop. Whoever leaves early ends it, and the model is free then.

    Raises:
        ModelError: the answer failed.
    """
    heard: asyncio.Queue[Heard] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def hear(part: Heard) -> None:
        loop.call_soon_threadsafe(heard.put_nowait, part)

    answer = ask(hear)
    part: Heard = ""
    try:
        while isinstance(part, str):
            part = await heard.get()
            yield _not_failed(part)
    finally:
        answer.cancel()
        while isinstance(part, str):
            part = await heard.get()


def _not_failed(part: Heard) -> str | Finished:
    if isinstance(part, ModelError):
        raise part
    return part

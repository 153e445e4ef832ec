"""Run several answers concurrently and merge their events."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from rolellm_graphs.chat.answer import PendingAnswer
from rolellm_graphs.events import Event


@dataclass(frozen=True, kw_only=True)
class Compared:
    """An event of one of several concurrent answers."""

    place: int
    """The index of the answer's voice."""
    event: Event


async def follow_all(answers: Sequence[PendingAnswer]) -> AsyncGenerator[Compared, None]:
    """Yield the events of all answers in order of arrival. Closing the generator stops all answers."""
    queue: asyncio.Queue[Compared | int] = asyncio.Queue()
    tasks = [asyncio.create_task(_follow(place, answer, queue)) for place, answer in enumerate(answers)]
    running = len(tasks)
    try:
        while running:
            event = await queue.get()
            if isinstance(event, int):
                running -= 1
                tasks[event].result()  # raises unexpected errors
            else:
                yield event
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _follow(place: int, answer: PendingAnswer, queue: "asyncio.Queue[Compared | int]") -> None:
    try:
        async with aclosing(answer.events()) as events:
            async for event in events:
                queue.put_nowait(Compared(place=place, event=event))
    finally:
        # Scheduled, so that the task is done when the reader receives its index.
        asyncio.get_running_loop().call_soon(queue.put_nowait, place)

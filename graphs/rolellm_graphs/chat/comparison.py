"""Several answers on their way at once."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from rolellm_graphs.chat.answer import PendingAnswer
from rolellm_graphs.events import Event


@dataclass(frozen=True, kw_only=True)
class Compared:
    """An event of one of the answers."""

    place: int
    """Of the answer, in the order in which the voices were given."""
    event: Event


async def follow_all(answers: Sequence[PendingAnswer]) -> AsyncGenerator[Compared, None]:
    """The events of all answers as they come. Whoever stops listening stops all."""
    heard: asyncio.Queue[Compared | int] = asyncio.Queue()
    tasks = [asyncio.create_task(_follow(place, answer, heard)) for place, answer in enumerate(answers)]
    going = len(tasks)
    try:
        while going:
            event = await heard.get()
            if isinstance(event, int):
                going -= 1
                tasks[event].result()  # raises what is a defect of ours
            else:
                yield event
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _follow(place: int, answer: PendingAnswer, heard: "asyncio.Queue[Compared | int]") -> None:
    try:
        async with aclosing(answer.events()) as events:
            async for event in events:
                heard.put_nowait(Compared(place=place, event=event))
    finally:
        # Its task is done by the time anybody looks.
        asyncio.get_running_loop().call_soon(heard.put_nowait, place)

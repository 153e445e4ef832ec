import asyncio
import gc
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk

from rolellm_agents.models.threaded import stream_in_thread

SECONDS = 30.0
"""No test waits so long, unless what it tests is broken."""


def chunk(text: str) -> ChatGenerationChunk:
    return ChatGenerationChunk(message=AIMessageChunk(content=text))


class GatedModel:
    """Counts upwards without end, one step for each `release` of its gate."""

    def __init__(self) -> None:
        self.backoff = threading.Semaphore(0)
        self.steps = 0
        self.ended = threading.Event()
        self._begun: queue.SimpleQueue[int] = queue.SimpleQueue()

    def chunks(self, should_stop: Callable[[], bool]) -> Iterator[ChatGenerationChunk]:
        try:
            while not should_stop():
                self._begun.put(self.steps)
                assert self.backoff.acquire(timeout=SECONDS), "nobody let the model go on"
                self.steps += 1
                yield chunk(str(self.steps))
        finally:
            self.ended.set()

    async def begins_step(self, number: int) -> None:
        """Return when the model computes its next step, which must be `number`, counted from zero."""
        assert await asyncio.to_thread(self._begun.get, timeout=SECONDS) == number


async def let_others_run() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def read(stream: AsyncIterator[ChatGenerationChunk]) -> list[str]:
    return [part.text async for part in stream]


async def test_chunks_come_in_order_and_all_of_them() -> None:
    texts = [str(number) for number in range(500)]
    assert await read(stream_in_thread(lambda _: map(chunk, texts))) == texts


async def test_a_stream_of_nothing_ends() -> None:
    assert await read(stream_in_thread(lambda _: iter(()))) == []


async def test_the_model_computes_in_another_thread() -> None:
    threads: list[int] = []

    def chunks(_: Callable[[], bool]) -> Iterator[ChatGenerationChunk]:
        threads.append(threading.get_ident())
        yield chunk("x")

    await read(stream_in_thread(chunks))
    assert threads != [threading.get_ident()]
    assert len(threads) == 1


@pytest.mark.parametrize("words_before", [0, 2])
async def test_an_exception_arrives_after_the_chunks_before_it(words_before: int) -> None:
    def chunks(_: Callable[[], bool]) -> Iterator[ChatGenerationChunk]:
        for number in range(words_before):
            yield chunk(str(number))
        raise LookupError("no such word")

    stream = stream_in_thread(chunks)
    assert [(await anext(stream)).text for _ in range(words_before)] == ["0", "1"][:words_before]
    with pytest.raises(LookupError, match=r"^no such word$"):
        await anext(stream)


async def test_an_exception_before_the_first_chunk_is_made_arrives_too() -> None:
    def chunks(_: Callable[[], bool]) -> Iterator[ChatGenerationChunk]:
        raise LookupError("not even begun")

    with pytest.raises(LookupError, match=r"^not even begun$"):
        await read(stream_in_thread(chunks))


async def test_a_listener_who_stays_is_never_told_to_stop() -> None:
    asked: list[bool] = []

    def chunks(should_stop: Callable[[], bool]) -> Iterator[ChatGenerationChunk]:
        for number in range(5):
            asked.append(should_stop())
            yield chunk(str(number))
        asked.append(should_stop())

    await read(stream_in_thread(chunks))
    assert asked == [False] * 6


async def test_closing_early_stops_the_model_within_one_step_and_waits_for_it() -> None:
    model = GatedModel()
    stream = stream_in_thread(model.chunks)
    model.backoff.release()
    assert (await anext(stream)).text == "1"
    await model.begins_step(0)
    await model.begins_step(1)
    closing = asyncio.ensure_future(stream.aclose())
    await let_others_run()
    assert not closing.done()  # the model is still busy
    model.backoff.release(100)
    await asyncio.wait_for(closing, SECONDS)
    assert model.ended.is_set()
    assert model.steps == 2


async def test_cancelling_the_reader_stops_the_model_within_one_step_and_waits_for_it() -> None:
    model = GatedModel()

    async def read_all() -> None:
        async with aclosing(stream_in_thread(model.chunks)) as stream:
            await read(stream)

    reader = asyncio.create_task(read_all())
    model.backoff.release()
    await model.begins_step(0)
    await model.begins_step(1)
    reader.cancel()
    await let_others_run()
    assert not reader.done()
    model.backoff.release(100)
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(reader, SECONDS)
    assert model.ended.is_set()
    assert model.steps == 2


async def test_the_loop_runs_on_while_the_model_computes() -> None:
    computing, went_on = threading.Event(), threading.Event()

    def chunks(_: Callable[[], bool]) -> Iterator[ChatGenerationChunk]:
        computing.set()
        yield chunk("in time" if went_on.wait(SECONDS) else "held up")

    async def something_else() -> None:
        await asyncio.to_thread(computing.wait, SECONDS)
        went_on.set()

    seen, _ = await asyncio.gather(read(stream_in_thread(chunks)), something_else())
    assert seen == ["in time"]


async def test_two_streams_compute_at_the_same_time() -> None:
    both_run = threading.Barrier(2, timeout=SECONDS)

    def chunks(_: Callable[[], bool]) -> Iterator[ChatGenerationChunk]:
        both_run.wait()
        yield chunk("met")

    streams = (read(stream_in_thread(chunks)) for _ in range(2))
    assert await asyncio.gather(*streams) == [["met"], ["met"]]


async def test_a_model_that_fails_when_told_to_stop_disturbs_nobody() -> None:
    """Nobody listens to the error any more, so it must not reach the log as one never retrieved."""
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))

    def chunks(should_stop: Callable[[], bool]) -> Iterator[ChatGenerationChunk]:
        while not should_stop():
            yield chunk("x")
        raise LookupError("torn down")

    stream = stream_in_thread(chunks)
    await anext(stream)
    await stream.aclose()
    gc.collect()
    await let_others_run()
    assert complaints == []

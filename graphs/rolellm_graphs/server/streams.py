"""Answers as they come: events of a stream, in OpenAI's form."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import StreamingResponse

from rolellm_graphs.server.answers import Agent, AnswerChunk, AnswerEnd, AnswerPart
from rolellm_graphs.server.connection import while_connected
from rolellm_graphs.server.failures import ApiError, api_error
from rolellm_graphs.server.metrics import Metrics
from rolellm_graphs.server.wire import ChatRequest

Chunks = Callable[[AnswerPart], Iterator[dict[str, Any]]]
"""From a part of an answer to the objects that are sent of it."""
_DONE: Final = b"data: [DONE]\n\n"
_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


async def stream_response(
    request: Request,
    answer: "StreamedAnswer",
    chunks: Chunks,
    headers: Mapping[str, str],
) -> StreamingResponse:
    """The answer as a stream of server-sent events, begun when its first words are there.

    What goes wrong before them is raised, so that it has a status of its own; what goes wrong later is
    told as an event. When the client hangs up, the answer is stopped.

    Args:
        request: what is answered.
        answer: as it is made.
        chunks: from a part to the objects that are sent of it.
        headers: further ones.

    Raises:
        GoneError: the client hung up before the first words.
        ApiError: it cannot be answered.
    """
    try:
        first = await while_connected(request.receive, answer.next())
    except BaseException:
        await answer.stop()
        raise
    events = _events(first, answer, chunks)
    return StreamingResponse(events, media_type="text/event-stream", headers={**_HEADERS, **headers})


async def _events(
    first: Sequence[AnswerPart], answer: "StreamedAnswer", chunks: Chunks
) -> AsyncIterator[bytes]:
    try:
        parts = first
        while parts:
            yield b"".join(_event(chunk) for part in parts for chunk in chunks(part))
            parts = await answer.next()
    except ApiError as error:
        yield _event(error.body)
    finally:
        await answer.stop()
    yield _DONE


class StreamedAnswer:
    """An answer that is given in a task of its own, so that whoever reads it may come and go."""

    def __init__(self, agent: Agent, asked: ChatRequest, *, seconds: float, metrics: Metrics) -> None:
        """Begin it.

        Args:
            agent: who answers.
            asked: what was asked.
            seconds: the longest that it may take.
            metrics: what counts it.
        """
        self._parts: asyncio.Queue[AnswerPart | Exception | None] = asyncio.Queue()
        self._task = asyncio.create_task(self._make(agent, asked, seconds, metrics))

    async def next(self) -> list[AnswerPart]:
        """All parts that there are, at least one; none when it has ended.

        Raises:
            ApiError: it cannot be given, or took too long.
        """
        part = await self._parts.get()
        found: list[AnswerPart] = []
        while part is not None and not isinstance(part, Exception):
            found.append(part)
            if self._parts.empty():
                return found
            part = self._parts.get_nowait()
        if not found:
            if part is not None:
                raise api_error(part) from part
            return []
        self._parts.put_nowait(part)  # it comes after these
        return found

    async def stop(self) -> None:
        """Give it up, if it has not ended."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _make(self, agent: Agent, asked: ChatRequest, seconds: float, metrics: Metrics) -> None:
        with metrics.answer() as clock:
            try:
                async with asyncio.timeout(seconds), aclosing(agent.answer(asked, asked.seed)) as answer:
                    async for part in answer:
                        clock.hear(part)
                        self._parts.put_nowait(part)
                self._parts.put_nowait(None)
            except Exception as error:  # noqa: BLE001  # whoever reads is told
                self._parts.put_nowait(error)


def chat_chunks(head: dict[str, Any], asked: ChatRequest, name: str | None) -> Chunks:
    """How a chat's answer is sent.

    Args:
        head: what all of its objects carry.
        asked: what was asked.
        name: who speaks; None where each line tells.
    """
    begun = False

    def chunks(part: AnswerPart) -> Iterator[dict[str, Any]]:
        nonlocal begun
        if not begun:
            begun = True
            named = {"name": name} if name else {}
            yield _choice(head, {"role": "assistant", "content": "", **named})
        if isinstance(part, AnswerChunk):
            named = {"name": part.speaker} if part.speaker else {}
            yield _choice(head, {"content": part.text, **named})
        else:
            told = {"scene": part.scene.model_dump()} if part.scene else {}
            yield {**_choice(head, {}, part.reason), **told}
            yield from _usage(head, part, asked)

    return chunks


def text_chunks(head: dict[str, Any], asked: ChatRequest) -> Chunks:
    """How the answer to a prompt is sent; arguments as for a chat's."""

    def chunks(part: AnswerPart) -> Iterator[dict[str, Any]]:
        text, reason = (part.text, None) if isinstance(part, AnswerChunk) else ("", part.reason)
        choice = {"index": 0, "text": text, "finish_reason": reason, "logprobs": None}
        yield {**head, "choices": [choice]}
        if isinstance(part, AnswerEnd):
            yield from _usage(head, part, asked)

    return chunks


def _usage(head: dict[str, Any], part: AnswerEnd, asked: ChatRequest) -> Iterator[dict[str, Any]]:
    if asked.stream_options and asked.stream_options.include_usage:
        yield {**head, "choices": [], "usage": part.usage.model_dump()}


def _choice(head: dict[str, Any], delta: dict[str, str], reason: str | None = None) -> dict[str, Any]:
    return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}]}


def _event(told: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(told, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()

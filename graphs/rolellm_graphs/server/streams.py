"""Streamed answers as server-sent events in OpenAI's format."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import StreamingResponse

from rolellm_graphs.server.answers import Agent, AnswerChunk, AnswerEnd, AnswerPart, CallChunk
from rolellm_graphs.server.connection import while_connected
from rolellm_graphs.server.failures import ApiError, api_error
from rolellm_graphs.server.metrics import Metrics
from rolellm_graphs.server.wire import ChatRequest

Chunks = Callable[[AnswerPart], Iterator[dict[str, Any]]]
"""Converts a part of an answer to objects to send."""
Failed = Callable[[ApiError], dict[str, Any]]
"""Converts a late error to an object to send."""
_DONE: Final = b"data: [DONE]\n\n"
_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


async def stream_response(
    request: Request,
    answer: "StreamedAnswer",
    chunks: Chunks,
    headers: Mapping[str, str],
    *,
    failed: Failed = lambda error: error.body,
) -> StreamingResponse:
    """Stream an answer as server-sent events, starting with its first piece of text.

    Errors before it are raised and get an HTTP status; later errors are sent as events. The answer stops
    when the client disconnects.

    Args:
        request: the client's request.
        answer: the answer to stream.
        chunks: converts a part of the answer to the objects to send.
        headers: further response headers.
        failed: converts a late error to the object to send.

    Raises:
        GoneError: the client disconnected before the first piece of text.
        ApiError: the request cannot be answered.
    """
    try:
        first = await while_connected(request.receive, answer.next())
    except BaseException:
        await answer.stop()
        raise
    events = _events(first, answer, chunks, failed)
    return StreamingResponse(events, media_type="text/event-stream", headers={**_HEADERS, **headers})


async def _events(
    first: Sequence[AnswerPart], answer: "StreamedAnswer", chunks: Chunks, failed: Failed
) -> AsyncIterator[bytes]:
    try:
        parts = first
        while parts:
            yield b"".join(_event(chunk) for part in parts for chunk in chunks(part))
            parts = await answer.next()
    except ApiError as error:
        yield _event(failed(error))
    finally:
        await answer.stop()
    yield _DONE


class StreamedAnswer:
    """An answer that is generated in a task of its own, independent of its reader."""

    def __init__(self, agent: Agent, request: ChatRequest, *, seconds: float, metrics: Metrics) -> None:
        """Start the answer.

        Args:
            agent: the persona or scene that answers.
            request: the client's request.
            seconds: the maximum duration of the answer.
            metrics: the server's counters.
        """
        self._parts: asyncio.Queue[AnswerPart | Exception | None] = asyncio.Queue()
        self._task = asyncio.create_task(self._generate(agent, request, seconds, metrics))

    async def next(self) -> list[AnswerPart]:
        """Wait for the next parts, at least one; an empty list is the end of the answer.

        Raises:
            ApiError: the answer failed or took too long.
        """
        part = await self._parts.get()
        parts: list[AnswerPart] = []
        while part is not None and not isinstance(part, Exception):
            parts.append(part)
            if self._parts.empty():
                return parts
            part = self._parts.get_nowait()
        if not parts:
            if part is not None:
                raise api_error(part) from part
            return []
        self._parts.put_nowait(part)  # raised after these parts
        return parts

    async def stop(self) -> None:
        """Cancel the answer if it is running."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _generate(self, agent: Agent, request: ChatRequest, seconds: float, metrics: Metrics) -> None:
        with metrics.answer() as clock:
            try:
                async with (
                    asyncio.timeout(seconds),
                    aclosing(agent.answer(request, request.seed)) as answer,
                ):
                    async for part in answer:
                        clock.record(part)
                        self._parts.put_nowait(part)
                self._parts.put_nowait(None)
            except Exception as error:  # noqa: BLE001  # passed to the reader
                self._parts.put_nowait(error)


def chat_chunks(head: dict[str, Any], request: ChatRequest, name: str | None) -> Chunks:
    """The chunks of a chat completion.

    `head` has the common fields of all objects; `name` is the speaker's, and None in a scene.
    """
    started = False

    def chunks(part: AnswerPart) -> Iterator[dict[str, Any]]:
        nonlocal started
        if not started:
            started = True
            speaker = {"name": name} if name else {}
            yield _choice(head, {"role": "assistant", "content": "", **speaker})
        if isinstance(part, AnswerChunk):
            speaker = {"name": part.speaker} if part.speaker else {}
            field = "reasoning_content" if part.is_reasoning else "content"
            yield _choice(head, {field: part.text, **speaker})
        elif isinstance(part, CallChunk):
            yield _choice(head, {"tool_calls": [_piece(part)]})
        else:
            extra: dict[str, Any] = {"scene": part.scene.model_dump()} if part.scene else {}
            # Known only now, when the headers have long been sent.
            extra |= {"dropped_messages": part.dropped} if part.dropped else {}
            yield {**_choice(head, {}, part.reason), **extra}
            yield from _usage(head, part, request)

    return chunks


def text_chunks(head: dict[str, Any], request: ChatRequest) -> Chunks:
    """The chunks of a text completion; arguments as for a chat."""

    def chunks(part: AnswerPart) -> Iterator[dict[str, Any]]:
        if isinstance(part, CallChunk) or (isinstance(part, AnswerChunk) and part.is_reasoning):
            return
        text, reason = (part.text, None) if isinstance(part, AnswerChunk) else ("", part.reason)
        choice = {"index": 0, "text": text, "finish_reason": reason, "logprobs": None}
        yield {**head, "choices": [choice]}
        if isinstance(part, AnswerEnd):
            yield from _usage(head, part, request)

    return chunks


def _piece(part: CallChunk) -> dict[str, Any]:
    """A piece of a call; only the first one names it."""
    named = {"id": part.id, "type": "function"} if part.name else {}
    name = {"name": part.name} if part.name else {}
    return {"index": part.number, **named, "function": {**name, "arguments": part.arguments}}


def _usage(head: dict[str, Any], part: AnswerEnd, request: ChatRequest) -> Iterator[dict[str, Any]]:
    if request.stream_options and request.stream_options.include_usage:
        yield {**head, "choices": [], "usage": part.usage.model_dump()}


def _choice(head: dict[str, Any], delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}]}


def _event(data: dict[str, Any]) -> bytes:
    # Only the Responses API names its events.
    name = f"event: {data['type']}\n" if "type" in data else ""
    return f"{name}data: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()

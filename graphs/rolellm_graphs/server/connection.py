"""The connection of a client: disconnects and the request body."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import Final, TypeVar

from starlette.responses import Response
from starlette.types import Message, Receive, Send

_T = TypeVar("_T")

_CLIENT_CLOSED_REQUEST: Final = 499
"""nginx's status for a client that disconnected."""

_MOST_DISCARDED: Final = 64 * 2**20
"""The most bytes that are read after a refusal."""


class GoneError(Exception):
    """The client disconnected."""


async def while_connected(receive: Receive, work: Awaitable[_T]) -> _T:
    """Run work until it ends or the client disconnects.

    Args:
        receive: the connection's ASGI `receive`, after the body was read.
        work: cancelled when the client disconnects.

    Raises:
        GoneError: the client disconnected and the work was cancelled.
    """
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_end_of(receive))
    try:
        await asyncio.wait([working, leaving], return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise GoneError
        return working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        # Their results were handled above; our own cancellation still propagates.
        await asyncio.gather(working, leaving, return_exceptions=True)


def gone_response() -> Response:
    """The response to a disconnected client, which is only counted."""
    return Response(status_code=_CLIENT_CLOSED_REQUEST)


def replayed(body: bytes, receive: Receive) -> Receive:
    """An ASGI `receive` that returns the body again, and then the messages after it."""
    was_read = False

    async def replay() -> Message:
        nonlocal was_read
        if was_read:
            return await receive()
        was_read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def read_to_the_end(receive: Receive, send: Send, seconds: float) -> Send:
    """An ASGI `send` that ends a response only when the client has sent its request.

    If the connection closes while a client is still sending, the client sees a reset, and the response that
    is on its way is lost. What the client sends is discarded.

    Args:
        receive: the connection's ASGI `receive`, when the body was not read to its end.
        send: the connection's ASGI `send`.
        seconds: how long to read at most.
    """

    async def send_and_read(message: Message) -> None:
        is_last = message["type"] == "http.response.body" and not message.get("more_body", False)
        await send({**message, "more_body": True} if is_last else message)
        if is_last:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await _discarded(receive)
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    return send_and_read


async def _discarded(receive: Receive) -> None:
    size = 0
    while size < _MOST_DISCARDED:
        message = await receive()
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            return
        size += len(message.get("body", b""))


async def _end_of(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass

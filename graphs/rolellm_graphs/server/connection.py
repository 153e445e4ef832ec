"""The connection of a client: disconnects and the request body."""

import asyncio
from collections.abc import Awaitable
from typing import Final, TypeVar

from starlette.responses import Response
from starlette.types import Message, Receive

_T = TypeVar("_T")

_CLIENT_CLOSED_REQUEST: Final = 499
"""nginx's status for a client that disconnected."""


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


async def _end_of(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass

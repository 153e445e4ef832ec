"""A client's connection: whether it is still there, and its request's body."""

import asyncio
from collections.abc import Awaitable
from typing import Final, TypeVar

from starlette.responses import Response
from starlette.types import Message, Receive

_T = TypeVar("_T")

_CLIENT_CLOSED_REQUEST: Final = 499
"""What nginx calls a client that did not wait."""


class GoneError(Exception):
    """The client hung up."""


async def while_connected(receive: Receive, work: Awaitable[_T]) -> _T:
    """Do it as long as the client waits.

    Args:
        receive: the connection's, when the body has been read.
        work: what is stopped when the client hangs up.

    Raises:
        GoneError: it hung up; the work was stopped.
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
        # What they end with was told above; a cancellation of ours still goes on from here.
        await asyncio.gather(working, leaving, return_exceptions=True)


def gone_response() -> Response:
    """The answer to a client that hung up: nobody reads it but the counters."""
    return Response(status_code=_CLIENT_CLOSED_REQUEST)


def replayed(body: bytes, receive: Receive) -> Receive:
    """The body once more, then what comes after it: the end of the connection."""
    read = False

    async def replay() -> Message:
        nonlocal read
        if read:
            return await receive()
        read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


async def _end_of(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass

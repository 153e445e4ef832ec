"""Middleware before every request: paths, host names, bodies and request counts.

API keys are checked in `clients`, and the limit on concurrent requests is in `concurrency`. All classes are
plain ASGI middleware, because middleware that wraps responses would buffer streams.
"""

import asyncio
from collections.abc import Iterable
from http import HTTPStatus
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rolellm_graphs.server.connection import read_to_the_end, replayed
from rolellm_graphs.server.current_request import KEY_NAME
from rolellm_graphs.server.failures import ApiError
from rolellm_graphs.server.metrics import Metrics

_AGAIN: Final = "1"
"""The `Retry-After` of a request that was rejected for lack of memory, in seconds."""


class KnownHosts:
    """Rejects requests whose `Host` header is not a name of this server."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        """Accept these host names, given without ports."""
        self._app = app
        self._hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or reject it."""
        if scope["type"] == "http" and _host(Headers(scope=scope).get("host", "")) not in self._hosts:
            error = ApiError(
                HTTPStatus.FORBIDDEN,
                "The host name of this request is not one of this server's; use the server's own address, "
                "or start it with --host or --allowed-host.",
            )
            return await error.response()(scope, receive, send)
        return await self._app(scope, receive, send)


class Prefix:
    """Serves under a proxy's prefix, whether the proxy leaves it in paths or not."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        """Serve under this prefix, such as `/rolellm`."""
        self._app = app
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, with a path without the prefix."""
        if scope["type"] == "http":
            scope["root_path"] = self._prefix
            if scope["path"].startswith(f"{self._prefix}/"):
                scope["path"] = scope["path"].removeprefix(self._prefix)
        return await self._app(scope, receive, send)


class UntypedJson:
    """Reads bodies without a Content-Type as JSON, as OpenAI does, unless a web page sent them.

    A page of another site may send such a request without asking first (CORS), and names itself in Origin.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, with the type if it has none."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            if "content-type" not in headers and "origin" not in headers:
                typed = (b"content-type", b"application/json")
                scope = {**scope, "headers": [*scope["headers"], typed]}
        return await self._app(scope, receive, send)


class BodyMemory:
    """Limits the memory of all request bodies together, from their arrival to the end of the answers."""

    def __init__(self, most: int) -> None:
        """Set the limit, in bytes."""
        self._left = most

    def reserve(self, size: int) -> None:
        """Reserve memory for `size` bytes.

        Raises:
            ApiError: all requests together exceed the limit.
        """
        if size > self._left:
            raise ApiError(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "The server's memory for requests is full; try again in a second.",
                code="overloaded",
                headers={"Retry-After": _AGAIN, "Connection": "close"},
            )
        self._left -= size

    def release(self, size: int) -> None:
        """Release `size` bytes when the request is answered."""
        self._left += size


class BodyLimit:
    """Reads each request completely, within limits of size and time, before it is processed."""

    def __init__(self, app: ASGIApp, size: int, seconds: float, memory: BodyMemory) -> None:
        """Wrap an application.

        Args:
            app: the application.
            size: the most bytes of a request.
            seconds: the most seconds until a request has arrived.
            memory: the memory that all requests share.
        """
        self._app = app
        self._size = size
        self._seconds = seconds
        self._memory = memory

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the complete request on, or reject it."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        chunks: list[bytes] = []
        try:
            try:
                async with asyncio.timeout(self._seconds):
                    is_complete = await self._read(Headers(scope=scope), receive, chunks)
            except TimeoutError:
                slow = "The request took too long to arrive; send it again."
                return await ApiError(HTTPStatus.REQUEST_TIMEOUT, slow).response()(scope, receive, send)
            except ApiError as error:
                lingering = read_to_the_end(receive, send, self._seconds)
                return await error.response()(scope, receive, lingering)
            if is_complete:
                await self._app(scope, replayed(b"".join(chunks), receive), send)
        finally:
            self._memory.release(sum(map(len, chunks)))

    async def _read(self, headers: Headers, receive: Receive, chunks: list[bytes]) -> bool:
        """Read the complete body; False when the client disconnected."""
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self._size:
            raise self._too_large()
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return False
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > self._size:
                raise self._too_large()
            self._memory.reserve(len(chunk))
            chunks.append(chunk)
            if not message.get("more_body", False):
                chunks[:] = [b"".join(chunks)]  # so that no second copy exists while it is answered
                return True

    def _too_large(self) -> ApiError:
        return ApiError(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"The request is larger than {self._size:,} bytes; leave out the oldest messages.",
            headers={"Connection": "close"},
        )


class Counting:
    """Counts requests by path and by key, with their status."""

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: Iterable[str]) -> None:
        """Count these paths separately and all others together, because clients can send any path."""
        self._app = app
        self._metrics = metrics
        self._paths = frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and count its status."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        path = scope["path"] if scope["path"] in self._paths else "other"

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                status = str(message["status"])
                self._metrics.requests.labels(path, status).inc()
                if KEY_NAME in scope:
                    self._metrics.key_requests.labels(scope[KEY_NAME], status).inc()
            await send(message)

        return await self._app(scope, receive, watched)


def _host(header: str) -> str:
    """The name without its port; an IPv6 address keeps its brackets."""
    name, colon, port = header.rpartition(":")
    return (name if colon and port.isdecimal() else header).lower().rstrip(".")

"""What stands before every request: who may ask, and how much. How many at a time stands in `concurrency`.

These are plain ASGI, since what wraps responses would hold streams back.
"""

import asyncio
import hashlib
import secrets
from collections.abc import Iterable
from http import HTTPStatus
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rolellm_graphs.server.connection import replayed
from rolellm_graphs.server.failures import ApiError
from rolellm_graphs.server.metrics import Metrics

_OPEN: Final = ("/", "/health", "/openapi.json", "/docs")
_OPEN_BELOW: Final = "/swagger/"
"""What needs no key: whether it answers, and how it is asked."""
_AGAIN: Final = "1"
"""Seconds after which a client may come again for whose request there was no memory."""


class KnownHosts:
    """Refuses requests for a name that is not this server's."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        """Let these names in, without their ports."""
        self._app = app
        self._hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on, or refuse it."""
        if scope["type"] == "http" and _host(Headers(scope=scope).get("host", "")) not in self._hosts:
            error = ApiError(
                HTTPStatus.FORBIDDEN,
                "This server is not known by this name; use its own address, or start it with --host.",
            )
            return await error.response()(scope, receive, send)
        return await self._app(scope, receive, send)


class Keys:
    """Lets those in who have a key."""

    def __init__(self, app: ASGIApp, keys: Iterable[str]) -> None:
        """Hold the keys' hashes: all are as long as each other, and compared in constant time."""
        self._app = app
        self._keys = tuple(_hash(key) for key in keys)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on, or refuse it."""
        path = scope.get("path", "")
        is_open = path in _OPEN or path.startswith(_OPEN_BELOW)
        if scope["type"] != "http" or is_open or self._opens(Headers(scope=scope)):
            return await self._app(scope, receive, send)
        error = ApiError(
            HTTPStatus.UNAUTHORIZED,
            "The API key is missing or wrong; send it as “Authorization: Bearer KEY”.",
            code="invalid_api_key",
            headers={"WWW-Authenticate": "Bearer"},
        )
        return await error.response()(scope, receive, send)

    def _opens(self, headers: Headers) -> bool:
        offered = _hash(_offered_key(headers))
        # All are compared, so that the time does not tell which one was near.
        return sum(secrets.compare_digest(offered, key) for key in self._keys) > 0


class BodyMemory:
    """What the bodies of all requests may take in memory, while they arrive, wait and are answered."""

    def __init__(self, most: int) -> None:
        """Allow so many bytes."""
        self._left = most

    def take(self, size: int) -> None:
        """Take so many bytes.

        Raises:
            ApiError: all requests together are too large.
        """
        if size > self._left:
            raise ApiError(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "The server holds as many bytes of requests as it may; try again in a second.",
                code="overloaded",
                headers={"Retry-After": _AGAIN, "Connection": "close"},
            )
        self._left -= size

    def give_back(self, size: int) -> None:
        """Free so many bytes, when their request is answered."""
        self._left += size


class BodyLimit:
    """Reads a request to its end, within a size and a time, before anybody works on it."""

    def __init__(self, app: ASGIApp, size: int, seconds: float, memory: BodyMemory) -> None:
        """Allow so many bytes in so many seconds, out of the memory that all requests share."""
        self._app = app
        self._size = size
        self._seconds = seconds
        self._memory = memory

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on whole, or refuse it."""
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
                return await error.response()(scope, receive, send)
            if is_complete:
                await self._app(scope, replayed(b"".join(chunks), receive), send)
        finally:
            self._memory.give_back(sum(map(len, chunks)))

    async def _read(self, headers: Headers, receive: Receive, chunks: list[bytes]) -> bool:
        """Read all of it; False when the client went away."""
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
            self._memory.take(len(chunk))
            chunks.append(chunk)
            if not message.get("more_body", False):
                chunks[:] = [b"".join(chunks)]  # so that no second copy lives while it is answered
                return True

    def _too_large(self) -> ApiError:
        return ApiError(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"The request is larger than {self._size:,} bytes; leave out the oldest messages.",
            headers={"Connection": "close"},
        )


class Counting:
    """Counts requests by their path and what they were answered with."""

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: Iterable[str]) -> None:
        """Count these paths by name, and all others together: a path comes from outside."""
        self._app = app
        self._metrics = metrics
        self._paths = frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on, and look at its status."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        path = scope["path"] if scope["path"] in self._paths else "other"

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._metrics.requests.labels(path, str(message["status"])).inc()
            await send(message)

        return await self._app(scope, receive, watched)


def hashed_key(headers: Headers) -> bytes | None:
    """The hash of the key that a request brings; None when it brings none."""
    key = _offered_key(headers)
    return _hash(key) if key else None


def _offered_key(headers: Headers) -> str:
    scheme, _, given = headers.get("authorization", "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")


def _host(header: str) -> str:
    """The name without its port; an IPv6 address keeps its brackets."""
    name, colon, port = header.rpartition(":")
    return (name if colon and port.isdecimal() else header).lower().rstrip(".")


def _hash(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()

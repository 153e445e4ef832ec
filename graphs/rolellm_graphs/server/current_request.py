"""The request that a task answers: its id, which clients see in errors and the log has, and its key."""

import secrets
from contextvars import ContextVar
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

KEY_NAME: Final = "rolellm.key"
"""The entry of a request's scope with the name of its key."""
HEADER: Final = "X-Request-Id"
_scope: ContextVar[Scope | None] = ContextVar("rolellm_request", default=None)
_ID: Final = "rolellm.request_id"


class RequestIds:
    """Gives each request an id, which its response has as a header."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        begin_request(scope)

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[HEADER] = scope[_ID]
            await send(message)

        return await self._app(scope, receive, named)


def begin_request(scope: Scope) -> None:
    """Note the request that this task answers from now on; it gets an id unless it has one."""
    scope.setdefault(_ID, f"req_{secrets.token_hex(12)}")
    _scope.set(scope)


def request_id() -> str:
    """The id of the request that this task answers; empty outside of requests."""
    scope = _scope.get()
    return scope[_ID] if scope else ""


def request_name() -> str:
    """The request for the log: its id, and the name of its key if it has one."""
    scope = _scope.get()
    key = scope.get(KEY_NAME) if scope else None
    return f"{request_id()} (key {key})" if key else request_id()

"""The server over streamable HTTP, behind the limits of `rolellm serve`."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from anyio import ClosedResourceError
from fastapi import FastAPI
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from rolellm_graphs.mcp.handlers import mcp_server
from rolellm_graphs.mcp.mistakes import remote_sentence
from rolellm_graphs.server.service import Service

PATH: Final = "/mcp"
_SDK_LOGGER: Final = "mcp.server.streamable_http"
_SESSIONS: Final = 256
_IDLE_SECONDS: Final = 30 * 60.0


class _Endpoint:
    """An ASGI application: Starlette takes functions for endpoints of another kind."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self._manager = manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._manager.handle_request(scope, receive, send)


def mcp_interface(app: FastAPI, service: Service) -> None:
    """Add the protocol at `/mcp`; a Host of another site is refused before it by the server."""
    manager = StreamableHTTPSessionManager(
        mcp_server(service, remote_sentence),
        session_idle_timeout=_IDLE_SECONDS,
        max_request_body_size=service.options.body_bytes,
        max_sessions=_SESSIONS,
    )

    @asynccontextmanager
    async def running() -> AsyncIterator[None]:
        async with manager.run():
            yield

    logging.getLogger(_SDK_LOGGER).addFilter(_is_worth_a_line)
    service.while_running.append(running)
    service.admitting.add(PATH)
    app.router.routes.append(Route(PATH, _Endpoint(manager), methods=["GET", "POST", "DELETE"]))


def _is_worth_a_line(record: logging.LogRecord) -> bool:
    """Leave out the errors that the SDK logs, with a traceback, whenever a client ends its session."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, ClosedResourceError)

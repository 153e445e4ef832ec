"""One line for each request, without its contents."""

import json
import logging
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rolellm_agents.text import one_line
from rolellm_graphs.server.current_request import KEY_NAME, request_id

ACCESS_LOGGER: Final = "rolellm_graphs.server.access"
AccessLogForm = Literal["text", "json"]
_log = logging.getLogger(ACCESS_LOGGER)
_SHOWN: Final = 200
_CLIENT_CLOSED_REQUEST: Final = 499


class AccessLog:
    """Logs each request at its end, with the level INFO."""

    def __init__(self, app: ASGIApp, form: AccessLogForm) -> None:
        """Wrap an application; `form` is the form of the lines."""
        self._app = app
        self._format = _as_json if form == "json" else _as_text

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        arrived, started = datetime.now(UTC), time.monotonic()
        status = _CLIENT_CLOSED_REQUEST

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            seconds = round(time.monotonic() - started, 3)
            _log.info("%s", self._format(_entry(scope, arrived, status, seconds)))


def _entry(scope: Scope, arrived: datetime, status: int, seconds: float) -> dict[str, Any]:
    """What is logged of a request. Queries of URLs are not: they may hold keys."""
    client = scope.get("client")
    return {
        "time": arrived.isoformat(timespec="milliseconds"),
        "client": client[0] if client else None,
        "key": scope.get(KEY_NAME),
        "method": one_line(scope["method"], _SHOWN),
        "path": one_line(scope["path"], _SHOWN),
        "status": status,
        "seconds": seconds,
        "request": request_id(),
    }


def _as_json(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, ensure_ascii=True)


def _as_text(entry: Mapping[str, Any]) -> str:
    who = f"{entry['client'] or '-'} {entry['key'] or '-'}"
    what = f"{entry['method']} {entry['path']} {entry['status']} {entry['seconds']:.3f}s"
    return f"{entry['time']} {who} {what} {entry['request']}"

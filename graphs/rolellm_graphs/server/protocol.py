"""HTTP connections that cannot be held open or filled before a request has arrived.

uvicorn reads requests with httptools, if it is installed, and then takes headers of any size. We use its
protocol for h11, which has a limit, and add what uvicorn has no settings for: a time for the head of a
request, a time for a reader that reads nothing, and a number of connections for each address.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

import h11
import uvicorn
from starlette.responses import JSONResponse
from uvicorn.protocols.http.h11_impl import H11Protocol

from rolellm_agents.files.ports import is_loopback
from rolellm_graphs.server.addresses import network_of
from rolellm_graphs.server.failures import ApiError

HEAD_BYTES: Final = 2**16
"""The largest head of a request: its first line and its headers."""


@dataclass
class ConnectionLimits:
    """The limits of connections, and the open ones. One per server."""

    head_seconds: float
    """How long the head of a request may take, from the connection or the last answer."""
    stuck_seconds: float
    """How long a client may read nothing of what was sent to it."""
    per_address: int
    """The most connections of one address, except of this machine: a proxy here has many clients."""
    _open: Counter[str] = field(default_factory=Counter)

    def enter(self, address: str) -> bool:
        """Count a connection; False if its address has too many."""
        network = network_of(address)
        if self._open[network] >= self.per_address and not is_loopback(address):
            return False
        self._open[network] += 1
        return True

    def leave(self, address: str) -> None:
        """Stop counting a connection that entered."""
        network = network_of(address)
        self._open[network] -= 1
        if not self._open[network]:
            del self._open[network]


class GuardedConfig(uvicorn.Config):
    """The settings of uvicorn for a server whose connections have limits."""

    def __init__(self, app: Any, *, limits: ConnectionLimits, **options: Any) -> None:
        """Take the application, the limits, and uvicorn's own settings."""
        super().__init__(app, http=GuardedProtocol, **options)
        self.limits = limits


class GuardedProtocol(H11Protocol):
    """One connection of a server with a `GuardedConfig`."""

    def __init__(self, config: GuardedConfig, *arguments: Any, **options: Any) -> None:
        """Create the protocol of a connection that is not open yet."""
        super().__init__(config, *arguments, **options)
        self.limits = config.limits
        self._peer: str | None = None
        self._head_timer: asyncio.TimerHandle | None = None
        self._stuck_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        address = self.client[0] if self.client else ""
        if not self.limits.enter(address):
            self._refuse(
                HTTPStatus.TOO_MANY_REQUESTS,
                f"Your address has {self.limits.per_address:,} connections to this server; close some.",
            )
            return
        self._peer = address
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        super().connection_lost(exc)
        for timer in (self._head_timer, self._stuck_timer, self.timeout_keep_alive_task):
            if timer is not None:
                timer.cancel()
        if self._peer is not None:
            self.limits.leave(self._peer)
            self._peer = None

    def handle_events(self) -> None:
        """Read what has arrived."""
        super().handle_events()
        self._watch_head()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._watch_head()

    def pause_writing(self) -> None:
        """Wait for the client to read."""
        super().pause_writing()
        self._stuck_timer = self.loop.call_later(self.limits.stuck_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Write on, since the client has read."""
        super().resume_writing()
        if self._stuck_timer is not None:
            self._stuck_timer.cancel()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request."""
        self._refuse(
            HTTPStatus.BAD_REQUEST,
            f"The request is not valid HTTP, or its headers exceed {HEAD_BYTES:,} bytes; correct it.",
        )

    def _watch_head(self) -> None:
        """Run the timer while a head is awaited, or the rest of a request that was answered already."""
        theirs = self.conn.their_state
        is_awaited = theirs is h11.IDLE or (theirs is h11.SEND_BODY and self.conn.our_state is h11.DONE)
        if not is_awaited and self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
        elif is_awaited and self._head_timer is None and not self.transport.is_closing():
            self._head_timer = self.loop.call_later(self.limits.head_seconds, self._give_up)

    def _give_up(self) -> None:
        has_begun, _ = self.conn.trailing_data
        if self.conn.our_state is h11.IDLE and has_begun and not self.transport.is_closing():
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, "The request took too long to arrive; send it again.")
        else:
            self.transport.close()

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()  # an answer has begun, so another would be read as a part of it
            return
        if self.cycle is not None:
            # The request whose end is no HTTP may have begun; its answer would come after this one.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        response = JSONResponse(ApiError(status, message).body, status, {"Connection": "close"})
        head = h11.Response(status_code=status, headers=response.raw_headers, reason=status.phrase.encode())
        for event in (head, h11.Data(data=bytes(response.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

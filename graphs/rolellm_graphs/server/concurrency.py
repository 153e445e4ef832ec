"""The concurrency limit, and the queue of pending requests."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection, Hashable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from http import HTTPStatus

from starlette.types import ASGIApp, Receive, Scope, Send

from rolellm_graphs.server.clients import client_of
from rolellm_graphs.server.connection import GoneError, gone_response, replayed, while_connected
from rolellm_graphs.server.failures import ApiError
from rolellm_graphs.server.fair_queue import FairQueue, QueueFullError, Ticket
from rolellm_graphs.server.metrics import Metrics
from rolellm_graphs.server.queue_pace import QueuePace


class Admission:
    """Admits requests in turn, or rejects them with a retry time. One per server."""

    def __init__(
        self,
        *,
        concurrent: int,
        queue: int,
        queue_seconds: float,
        metrics: Metrics,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create an empty queue.

        At most `concurrent` requests are answered and `queue` requests are pending, each for at most
        `queue_seconds`. The clock returns monotonic seconds.
        """
        self._queue = FairQueue(concurrent, queue)
        self._capacity = queue
        self._pace = QueuePace()
        self._seconds = queue_seconds
        self._metrics = metrics
        self._clock = clock

    @property
    def waiting(self) -> int:
        """Number of pending requests."""
        return self._queue.waiting

    @asynccontextmanager
    async def turn(self, client: Hashable, receive: Receive) -> AsyncIterator[None]:
        """Wait for a place, and hold it while the request is answered.

        Args:
            client: identifies the client; clients take turns.
            receive: the connection's ASGI `receive`, after the body was read.

        Raises:
            ApiError: the queue is full, or the wait was too long.
            GoneError: the client disconnected while waiting.
        """
        began = self._clock()
        changed = asyncio.Event()
        ticket = self._enter(client, changed)
        try:
            if ticket.state == "waiting":
                await while_connected(receive, self._wait(ticket, changed))
            self._pace.note(self._clock())
            self._metrics.waited.observe(self._clock() - began)
            yield
        finally:
            self._queue.leave(ticket)
            self._metrics.waiting.set(self.waiting)

    @property
    def _fullness(self) -> str:
        if not self._capacity:
            return "all places are taken, and this server keeps no queue"
        return f"the queue is full with {self._capacity:,} requests"

    def _enter(self, client: Hashable, changed: asyncio.Event) -> Ticket:
        try:
            ticket = self._queue.enter(client, changed.set)
        except QueueFullError:
            raise self._refusal("queue_full", self._fullness) from None
        self._metrics.waiting.set(self.waiting)
        return ticket

    async def _wait(self, ticket: Ticket, changed: asyncio.Event) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._seconds):
                await changed.wait()
        if ticket.state == "waiting":
            raise self._refusal("waited", f"the request has waited {self._seconds:g} seconds for its turn")
        if ticket.state == "refused":
            raise self._refusal("queue_full", f"{self._fullness}, and most of these requests are yours")

    def _refusal(self, reason: str, explanation: str) -> ApiError:
        """The error for a rejected client, with a retry time."""
        self._metrics.refused.labels(reason).inc()
        seconds = self._pace.seconds_for(self.waiting + 1, self._clock())
        return ApiError(
            HTTPStatus.TOO_MANY_REQUESTS,
            f"The server is busy: {explanation}; try again in {seconds} seconds.",
            code="rate_limit_exceeded",
            headers={"Retry-After": str(seconds)},
        )


class ConcurrencyLimit:
    """Middleware that limits concurrent requests and queues the others.

    It runs after `BodyLimit`, so requests arrive here complete and none holds a place while its body is
    still being sent.
    """

    def __init__(self, app: ASGIApp, admission: Admission, admitting: Collection[str] = ()) -> None:
        """Wrap an application.

        Args:
            app: the application.
            admission: the queue.
            admitting: beginnings of paths whose requests do not wait here, because their answers wait for
                a place themselves. Otherwise the request that cancels an answer would wait behind it.
        """
        self._app = app
        self._admission = admission
        self._admitting = admitting

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on when it is admitted, or reject it."""
        if scope["type"] != "http" or scope["method"] != "POST":
            return await self._app(scope, receive, send)
        if scope["path"].startswith(tuple(self._admitting)):
            return await self._app(scope, receive, send)
        arrived = await receive()
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(self._admission.turn(client_of(scope), receive))
            except ApiError as error:
                return await error.response()(scope, receive, send)
            except GoneError:
                return await gone_response()(scope, receive, send)
            return await self._app(scope, replayed(arrived.get("body", b""), receive), send)

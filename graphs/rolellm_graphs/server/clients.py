"""Who sends a request, and whether this client may send one now."""

import asyncio
from collections.abc import Hashable
from http import HTTPStatus
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from rolellm_graphs.server.addresses import network_of
from rolellm_graphs.server.api_keys import ApiKey, KeyRing
from rolellm_graphs.server.current_request import KEY_NAME
from rolellm_graphs.server.failures import ApiError
from rolellm_graphs.server.metrics import Metrics
from rolellm_graphs.server.request_rates import RequestRates

_OPEN: Final = ("/", "/health", "/openapi.json", "/docs")
_OPEN_BELOW: Final = "/swagger/"
"""Paths that need no key: health and documentation."""
_WRONG_PER_MINUTE: Final = 60
"""Requests without a valid key that an address may send in a minute before its keys are not read."""


class Clients:
    """Rejects requests without a valid key, and those of clients that send too many."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        keys: KeyRing | None,
        per_minute: int | None,
        metrics: Metrics,
        rates: RequestRates,
    ) -> None:
        """Wrap an application.

        Args:
            app: the application.
            keys: the valid keys; None for open access.
            per_minute: the most requests of a client in a minute, unless its key has its own limit; None
                for no limit.
            metrics: the server's counters.
            rates: the requests of the last minute.
        """
        self._app = app
        self._keys = keys
        self._per_minute = per_minute
        self._metrics = metrics
        self._rates = rates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or reject it."""
        path = scope.get("path", "")
        if scope["type"] != "http" or path in _OPEN or path.startswith(_OPEN_BELOW):
            return await self._app(scope, receive, send)
        try:
            # In a thread, since the rates may be another process's, and the file of keys is read.
            await asyncio.to_thread(self._admit, scope)
        except ApiError as error:
            return await error.response()(scope, receive, send)
        return await self._app(scope, receive, send)

    def _admit(self, scope: Scope) -> None:
        key = None if self._keys is None else self._checked_key(self._keys, scope)
        if key is not None:
            scope[KEY_NAME] = key.name
        limit = (key and key.requests_per_minute) or self._per_minute
        if limit is not None and (seconds := self._rates.take(client_of(scope), limit)):
            raise self._too_many(f"{limit:,} requests", seconds)

    def _checked_key(self, keys: KeyRing, scope: Scope) -> ApiKey:
        stranger = ("stranger", _address_of(scope))
        if seconds := self._rates.seconds_left(stranger, _WRONG_PER_MINUTE):
            raise self._too_many(f"{_WRONG_PER_MINUTE} requests without a valid key", seconds)
        key = keys.find(_offered_key(Headers(scope=scope)))
        if key is None:
            self._rates.take(stranger, _WRONG_PER_MINUTE)
            raise ApiError(
                HTTPStatus.UNAUTHORIZED,
                "The API key is missing, wrong or expired; send it as “Authorization: Bearer KEY”.",
                code="invalid_api_key",
                headers={"WWW-Authenticate": "Bearer"},
            )
        return key

    def _too_many(self, what: str, seconds: int) -> ApiError:
        self._metrics.refused.labels("rate").inc()
        return ApiError(
            HTTPStatus.TOO_MANY_REQUESTS,
            f"You may send {what} in a minute; try again in {seconds} seconds.",
            code="rate_limit_exceeded",
            headers={"Retry-After": str(seconds)},
        )


def client_of(scope: Scope) -> Hashable:
    """The client of a request: its key, or else its address."""
    return scope.get(KEY_NAME) or _address_of(scope)


def _address_of(scope: Scope) -> str:
    address = scope.get("client")
    return network_of(address[0]) if address else ""


def _offered_key(headers: Headers) -> bytes:
    scheme, _, given = headers.get("authorization", "").partition(" ")
    key = given if scheme.lower() == "bearer" else headers.get("x-api-key", "")
    # ASGI's headers are bytes, which Starlette reads as Latin-1; clients send UTF-8.
    return key.strip().encode("latin-1")

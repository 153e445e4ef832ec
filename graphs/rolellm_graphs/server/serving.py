"""The server process, with graceful shutdown."""

import asyncio
import socket
from collections.abc import Callable, Sequence
from typing import Any

import uvicorn
from fastapi import FastAPI

from rolellm_agents.models.local import load_model
from rolellm_graphs.server.app import Interface, create_app, openai_interface
from rolellm_graphs.server.endpoint import Endpoint, listening, tls_settings, with_own_names
from rolellm_graphs.server.log_settings import log_settings
from rolellm_graphs.server.options import ServerOptions
from rolellm_graphs.server.protocol import HEAD_BYTES, ConnectionLimits, GuardedConfig

Application = FastAPI | Callable[[], FastAPI]
"""An application, or what makes it in a worker process."""


async def serve(
    options: ServerOptions,
    endpoint: Endpoint,
    *,
    interfaces: Sequence[Interface] = (openai_interface,),
    patience: float = 30.0,
    on_ready: Callable[[str], None] = print,
) -> None:
    """Serve until a signal arrives; then finish running streams and accept no new requests.

    Args:
        options: the server's options.
        endpoint: where it listens.
        interfaces: the protocols that the server speaks.
        patience: seconds that running streams may take to end; a second signal cancels them.
        on_ready: called with the server's URL when it accepts requests.

    Raises:
        SettingsError: the address, the prefix or the certificate cannot be used, or the address is public
            and there is no key.
        ModelError: the first model cannot be used or loaded.
    """
    tls = tls_settings(endpoint.certificate, endpoint.private_key)
    with listening(endpoint, options) as (listener, url):
        options = with_own_names(options, endpoint.host)
        app = await asyncio.to_thread(create_app, options, interfaces)
        await asyncio.to_thread(load_model, app.state.agents.model())
        config = server_config(
            app,
            options,
            timeout_graceful_shutdown=max(1, round(patience)),
            log_config=log_settings(options),
            **tls,
        )
        await _NotifyingServer(config, lambda: on_ready(url)).serve(sockets=[listener])


def server_config(app: Application, options: ServerOptions, **others: Any) -> GuardedConfig:
    """The settings of uvicorn for an application, with our limits; `others` are further settings."""
    limits = ConnectionLimits(options.head_seconds, options.stuck_seconds, options.connections_per_address)
    return GuardedConfig(
        app,
        limits=limits,
        h11_max_incomplete_event_size=HEAD_BYTES,
        ws="none",
        log_level=options.log_level,
        access_log=False,
        server_header=False,
        **others,
    )


class _NotifyingServer(uvicorn.Server):
    """Calls a function when it is ready."""

    def __init__(self, config: uvicorn.Config, notify: Callable[[], None]) -> None:
        super().__init__(config)
        self._notify = notify

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._notify()

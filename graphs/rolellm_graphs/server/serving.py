"""The server process, with graceful shutdown."""

import asyncio
import socket
import ssl
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import uvicorn
from fastapi import FastAPI

from rolellm_agents.errors import SettingsError
from rolellm_agents.files.ports import is_loopback, listen
from rolellm_agents.models.local import load_model
from rolellm_graphs.server.app import Interface, create_app, openai_interface
from rolellm_graphs.server.log_settings import log_settings
from rolellm_graphs.server.options import ServerOptions
from rolellm_graphs.server.protocol import HEAD_BYTES, ConnectionLimits, protocol_behind

_BACKLOG: Final = 2048
_HERE: Final = ("localhost", "127.0.0.1", "[::1]")
"""The host names by which programs on this machine reach the server."""


async def serve(
    options: ServerOptions,
    *,
    interfaces: Sequence[Interface] = (openai_interface,),
    base: str = "/v1",
    host: str = "127.0.0.1",
    port: int | None = None,
    certificate: Path | None = None,
    private_key: Path | None = None,
    patience: float = 30.0,
    on_ready: Callable[[str], None] = print,
) -> None:
    """Serve until a signal arrives; then finish running streams and accept no new requests.

    Args:
        options: the server's options.
        interfaces: the protocols that the server speaks.
        base: the path of the URL for clients.
        host: a host name or address of this machine.
        port: None uses 8000 or the next free port; 0 uses any free port.
        certificate: a PEM file with the certificate chain for HTTPS; None serves HTTP.
        private_key: a PEM file with its key, if the key is not in the same file.
        patience: seconds that running streams may take to end; a second signal cancels them.
        on_ready: called with the server's URL when it accepts requests.

    Raises:
        SettingsError: the address, the prefix or the certificate cannot be used, or the address is public
            and there is no key.
        ModelError: the first model cannot be used or loaded.
    """
    check_access(host, options)
    check_prefix(options.root_path)
    tls = tls_settings(certificate, private_key)
    with listen(host, port) as listener:
        listener.listen(_BACKLOG)
        # asyncio does so only for sockets that say they are TCP's. Without it the end of an answer waits
        # for the client's delayed acknowledgement: 40 ms of each request.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        url = _url("https" if tls else "http", host, listener) + base
        if not options.asks_for_keys or options.hosts:
            named = (name.lower().rstrip(".") for name in options.hosts)
            options = replace(options, hosts=(*_HERE, host.lower(), *named))
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


def check_access(host: str, options: ServerOptions) -> None:
    """Require an API key for public addresses.

    Raises:
        SettingsError: the address is public and there is no key.
    """
    if not is_loopback(host) and not options.asks_for_keys:
        raise SettingsError(
            f"Anyone who can reach {host} could use this server; set a key with --api-key, "
            "ROLELLM_API_KEY or --api-keys, or leave out --host to serve this machine only."
        )


def check_prefix(prefix: str) -> None:
    """Check the prefix under which a proxy offers the server.

    Raises:
        SettingsError: it is no path.
    """
    if prefix and (not prefix.startswith("/") or prefix.endswith("/") or not prefix.isprintable()):
        raise SettingsError(f"--root-path {prefix!r} is no prefix; write it as in --root-path /rolellm.")


def server_config(app: FastAPI, options: ServerOptions, **others: Any) -> uvicorn.Config:
    """The settings of uvicorn for an application, with our limits; `others` are further settings."""
    limits = ConnectionLimits(options.head_seconds, options.stuck_seconds, options.connections_per_address)
    return uvicorn.Config(
        app,
        http=protocol_behind(limits),
        h11_max_incomplete_event_size=HEAD_BYTES,
        ws="none",
        log_level=options.log_level,
        access_log=False,
        server_header=False,
        **others,
    )


def tls_settings(certificate: Path | None, private_key: Path | None) -> dict[str, Path]:
    """The settings of uvicorn for HTTPS; empty without a certificate.

    Raises:
        SettingsError: the files cannot be used.
    """
    if certificate is None:
        if private_key is not None:
            raise SettingsError("--private-key needs its --certificate; name both files.")
        return {}
    try:
        # An encrypted key would ask for its password in the terminal.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, private_key, password="")
    except (OSError, ValueError) as error:  # ssl's errors are OSErrors
        reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        raise SettingsError(
            f"{certificate} cannot be used for HTTPS ({reason}); give a certificate with --certificate "
            "and its key, without a password, with --private-key, both in PEM format."
        ) from error
    return {"ssl_certfile": certificate, **({"ssl_keyfile": private_key} if private_key else {})}


class _NotifyingServer(uvicorn.Server):
    """Calls a function when it is ready."""

    def __init__(self, config: uvicorn.Config, notify: Callable[[], None]) -> None:
        super().__init__(config)
        self._notify = notify

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._notify()


def _url(scheme: str, host: str, listener: socket.socket) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"{scheme}://{name}:{listener.getsockname()[1]}"

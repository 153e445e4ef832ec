"""Where a server listens, and whether it may."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from rolellm_agents.errors import SettingsError
from rolellm_agents.files.ports import is_loopback, listen
from rolellm_graphs.server.options import ServerOptions

_BACKLOG: Final = 2048
_HERE: Final = ("localhost", "127.0.0.1", "[::1]")
"""The host names by which programs on this machine reach the server."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """The address of a server, and its certificate."""

    host: str = "127.0.0.1"
    """A host name or address of this machine."""
    port: int | None = None
    """None uses 8000 or the next free port; 0 uses any free port."""
    base: str = "/v1"
    """The path of the URL for clients."""
    certificate: Path | None = None
    """A PEM file with the certificate chain for HTTPS; None serves HTTP."""
    private_key: Path | None = None
    """A PEM file with the certificate's key, if the key is not in the same file."""


@contextmanager
def listening(endpoint: Endpoint, options: ServerOptions) -> Iterator[tuple[socket.socket, str]]:
    """A socket that listens, and the URL for clients.

    Raises:
        SettingsError: the address or the prefix cannot be used, or the address is public and there is no
            key.
    """
    check_access(endpoint.host, options)
    check_prefix(options.root_path)
    with listen(endpoint.host, endpoint.port) as listener:
        listener.listen(_BACKLOG)
        # asyncio does so only for sockets that say they are TCP's. Without it the end of an answer waits
        # for the client's delayed acknowledgement: 40 ms of each request.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        scheme = "https" if endpoint.certificate else "http"
        name = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
        yield listener, f"{scheme}://{name}:{listener.getsockname()[1]}{endpoint.base}"


def with_own_names(options: ServerOptions, host: str) -> ServerOptions:
    """The options, with the names of this machine among the hosts if those are checked."""
    if options.asks_for_keys and not options.hosts:
        return options
    named = (name.lower().rstrip(".") for name in options.hosts)
    return replace(options, hosts=(*_HERE, host.lower(), *named))


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

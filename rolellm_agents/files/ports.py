"""Listening sockets for servers on this machine."""

import ipaddress
import socket
from contextlib import suppress

from rolellm_agents.errors import SettingsError

_FIRST_PORT = 8000
_PORTS_TRIED = 20


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine can connect to a name or an address."""
    address = address_of(host)
    return host == "localhost" if address is None else address.is_loopback


def address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The parsed IP address; None for a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def listen(host: str, port: int | None) -> socket.socket:
    """Open a listening socket.

    Args:
        host: a name or an address of this machine.
        port: 0 is any free port; None is 8000 or the next free port.

    Raises:
        SettingsError: the address or the port cannot be used.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0]
        return _first_free(family, str(address[0]), port)
    except (OSError, UnicodeError) as error:
        raise SettingsError(
            f"{host} cannot be listened on{f' at port {port}' if port else ''} ({_reason(error)}); "
            "choose another with --host and --port."
        ) from error


def _reason(error: OSError | UnicodeError) -> str:
    if isinstance(error, UnicodeError):
        return "this is not the name of a machine"
    # Python adds the address, which the message already contains.
    return (error.strerror or str(error)).partition(" (while ")[0]


def _first_free(family: int, address: str, port: int | None) -> socket.socket:
    for candidate in range(_FIRST_PORT, _FIRST_PORT + _PORTS_TRIED) if port is None else ():
        with suppress(OSError):
            return socket.create_server((address, candidate), family=family)
    return socket.create_server((address, port or 0), family=family)

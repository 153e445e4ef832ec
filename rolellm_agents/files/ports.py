"""Take a port of this machine, for what is served from it."""

import ipaddress
import socket
from contextlib import suppress

from rolellm_agents.errors import SettingsError

_FIRST_PORT = 8000
_PORTS_TRIED = 20


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine can come to a name or an address."""
    address = address_of(host)
    return host == "localhost" if address is None else address.is_loopback


def address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An address as such; None for a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def listen(host: str, port: int | None) -> socket.socket:
    """Take a port.

    Args:
        host: a name or an address of this machine.
        port: this one and no other; 0 is any; None is 8000 or the next that is free.

    Raises:
        SettingsError: it cannot be had.
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
        return "this is no name of a machine"
    # Python adds the address, which is told already.
    return (error.strerror or str(error)).partition(" (while ")[0]


def _first_free(family: int, address: str, port: int | None) -> socket.socket:
    for one in range(_FIRST_PORT, _FIRST_PORT + _PORTS_TRIED) if port is None else ():
        with suppress(OSError):
            return socket.create_server((address, one), family=family)
    return socket.create_server((address, port or 0), family=family)

"""Addresses of clients."""

import ipaddress
from functools import lru_cache

_SUBSCRIBER = 64
"""Bits of an IPv6 address that its owner cannot choose."""


@lru_cache(maxsize=4096)
def network_of(address: str) -> str:
    """What one client has: an IPv4 address, or the network in which it may choose its IPv6 addresses.

    Anything else, such as the name of a Unix socket, is returned unchanged.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((int(parsed), _SUBSCRIBER), strict=False))

"""Access control of the web app: its address, its path and its token.

Browsers send a cookie to all ports of a host. The app therefore has a random path, and the cookie belongs
to that path: a server at another port, which does not know the path, never receives the token.
"""

import secrets
import socket
from dataclasses import dataclass, field

from rolellm_agents.files.ports import address_of, is_loopback


@dataclass(frozen=True)
class Door:
    """The address of the server, and the token that a browser must present."""

    host: str
    """Host to listen on; `0.0.0.0` and `::` mean all addresses."""
    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    path: str = field(default_factory=lambda: f"/{secrets.token_urlsafe(16)}/", repr=False)
    """The path below which everything is served; it begins and ends with a slash."""

    @property
    def origin(self) -> str:
        """Scheme and host of all URLs, as in `Origin`."""
        return f"http://{self._named(socket.gethostname() if self._is_everywhere else self.host)}"

    @property
    def link(self) -> str:
        """The URL with the token."""
        return f"{self.address}?token={self.token}"

    @property
    def address(self) -> str:
        """The URL of the page, without the token."""
        return f"{self.origin}{self.path}"

    @property
    def cookie(self) -> str:
        """The name of the token cookie, with the port, so that apps at several ports have their own."""
        return f"rolellm-{self.port}"

    @property
    def is_on_loopback(self) -> bool:
        """Whether only this machine can connect."""
        return is_loopback(self.host)

    def is_called(self, host: str) -> bool:
        """Whether a request's `Host` header is an address or name of this server.

        This prevents DNS rebinding: a foreign page can make its own name resolve to this machine, but
        cannot use this machine's name or address.
        """
        if not self._is_everywhere:
            return host == self._named(self.host)
        name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
        return name in ("localhost", socket.gethostname()) or address_of(name.strip("[]")) is not None

    def opens_with(self, token: str) -> bool:
        """Whether this is the token, compared in constant time."""
        return secrets.compare_digest(token.encode(errors="replace"), self.token.encode())

    @property
    def _is_everywhere(self) -> bool:
        address = address_of(self.host)
        return address is not None and address.is_unspecified

    def _named(self, host: str) -> str:
        """The host as in URLs and `Host`, without a default port."""
        name = f"[{host}]" if ":" in host else host
        return name if self.port == 80 else f"{name}:{self.port}"

"""Who may come in: where the app is served in browsers, and the token that opens it."""

import secrets
import socket
from dataclasses import dataclass, field

from rolellm_agents.files.ports import address_of, is_loopback


@dataclass(frozen=True)
class Door:
    """An address of this machine and what is asked of everybody who comes there."""

    host: str
    """The name or address that is listened on; `0.0.0.0` and `::` are all that this machine has."""
    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def origin(self) -> str:
        """The beginning of every URL, as a browser tells it in `Origin`."""
        return f"http://{self._named(socket.gethostname() if self._is_everywhere else self.host)}"

    @property
    def link(self) -> str:
        """What the person opens: the one URL that has the token in it."""
        return f"{self.origin}/?token={self.token}"

    @property
    def cookie(self) -> str:
        """The name of the cookie in which the token rests; browsers do not part cookies by port."""
        return f"rolellm-{self.port}"

    @property
    def is_on_loopback(self) -> bool:
        """Whether only programs of this machine can come here."""
        return is_loopback(self.host)

    def is_called(self, host: str) -> bool:
        """Whether a request's `Host` is ours.

        A page from elsewhere can let its own name point to this machine (DNS rebinding); its requests
        then come here with that name. It cannot do so with an address, nor with this machine's name.
        """
        if not self._is_everywhere:
            return host == self._named(self.host)
        name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
        return name in ("localhost", socket.gethostname()) or address_of(name.strip("[]")) is not None

    def opens_with(self, offered: str) -> bool:
        """Whether this is the token; how long the answer takes tells nothing of it."""
        return secrets.compare_digest(offered.encode(errors="replace"), self.token.encode())

    @property
    def _is_everywhere(self) -> bool:
        address = address_of(self.host)
        return address is not None and address.is_unspecified

    def _named(self, host: str) -> str:
        """As it stands in URLs and in `Host`: without the port that browsers leave out."""
        name = f"[{host}]" if ":" in host else host
        return name if self.port == 80 else f"{name}:{self.port}"

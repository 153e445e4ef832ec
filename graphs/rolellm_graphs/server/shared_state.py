"""What worker processes of one server share.

It lives in the memory of the process that starts the workers, which ask it over a local socket, so that no
message of a client lies on a disk.
"""

import secrets
import time
from dataclasses import dataclass, field
from multiprocessing.managers import BaseManager
from threading import Thread
from typing import Any, cast

from rolellm_graphs.server.request_rates import RequestRates
from rolellm_graphs.server.scene_memory import SceneMemory


@dataclass(frozen=True)
class SharedState:
    """The state of a server that outlives a request and counts for all its workers."""

    rates: RequestRates = field(default_factory=lambda: RequestRates(time.monotonic))
    """The requests of each client."""
    scenes: SceneMemory = field(default_factory=SceneMemory)
    """Lines of scenes that the messages of clients do not contain."""


@dataclass(frozen=True)
class StateAddress:
    """Where the workers find the state; it can be sent to them."""

    address: Any
    key: bytes

    def connect(self) -> SharedState:
        """The state, as a worker uses it: each call of a method asks the process that has it."""
        manager = _StateManager(self.address, self.key)
        manager.connect()
        found = cast(Any, manager)
        return SharedState(found.rates(), found.scenes())


def offer(state: SharedState) -> StateAddress:
    """Let the workers of this process use a state, for as long as the process lives."""

    class Offering(_StateManager):
        """The manager in the process that has the state."""

    Offering.register("rates", lambda: state.rates, exposed=("seconds_left", "take"))
    Offering.register("scenes", lambda: state.scenes, exposed=("find", "keep"))
    key = secrets.token_bytes(32)
    server = Offering(authkey=key).get_server()
    Thread(target=server.serve_forever, daemon=True).start()
    return StateAddress(server.address, key)


class _StateManager(BaseManager):
    """Names what workers can ask for."""


_StateManager.register("rates")
_StateManager.register("scenes")

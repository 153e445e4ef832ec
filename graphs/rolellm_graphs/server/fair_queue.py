"""A bounded queue in which clients take turns, independent of time and asyncio."""

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import Literal

State = Literal["waiting", "running", "refused", "left"]


class QueueFullError(Exception):
    """The queue is full."""


class Ticket:
    """The place of a request: pending, or being answered."""

    def __init__(self, client: Hashable, changed: Callable[[], None]) -> None:
        """Create a ticket.

        Args:
            client: identifies the client of the request.
            changed: called when the request is admitted or rejected.
        """
        self.client = client
        self.state: State = "waiting"
        self._changed = changed

    def move_on(self, state: Literal["running", "refused"]) -> None:
        """Change the state, and notify the waiting request."""
        self.state = state
        self._changed()


class FairQueue:
    """Limits concurrent requests; the others wait.

    A free place goes to the oldest request of the next client in turn. So a single request does not wait
    for fifty requests of another client.
    """

    def __init__(self, limit: int, capacity: int) -> None:
        """Create an empty queue. At most `limit` requests are active and `capacity` requests pending."""
        self._limit = limit
        self._capacity = capacity
        self._lines: OrderedDict[Hashable, deque[Ticket]] = OrderedDict()
        self.running = 0
        """Admitted requests."""
        self.waiting = 0
        """Number of pending requests."""

    def enter(self, client: Hashable, changed: Callable[[], None]) -> Ticket:
        """Add a request. The state of its ticket says whether it is admitted.

        When the queue is full, a client with few requests replaces the latest request of the client with
        the most, so that one client cannot fill the queue alone.

        Args:
            client: identifies the client of the request.
            changed: called when a pending request is admitted or rejected.

        Raises:
            QueueFullError: the queue is full, and no other client has more pending requests.
        """
        ticket = Ticket(client, changed)
        if self.running < self._limit:
            self.running += 1
            ticket.state = "running"
            return ticket
        if self.waiting >= self._capacity:
            self._make_room(client)
        self._lines.setdefault(client, deque()).append(ticket)
        self.waiting += 1
        return ticket

    def leave(self, ticket: Ticket) -> None:
        """Release the place of a pending or running request. Calling it twice is harmless."""
        state, ticket.state = ticket.state, "left"
        if state == "waiting":
            self._remove(ticket)
        elif state == "running":
            self.running -= 1
            self._let_next_begin()

    def _make_room(self, client: Hashable) -> None:
        own = len(self._lines.get(client, ()))
        longest = max(self._lines.values(), key=len, default=None)
        if longest is None or len(longest) <= own + 1:
            raise QueueFullError
        latest = longest[-1]
        self._remove(latest)
        latest.move_on("refused")

    def _let_next_begin(self) -> None:
        if not self._lines:
            return
        client, line = next(iter(self._lines.items()))
        ticket = line[0]
        self._remove(ticket)
        if line:
            self._lines.move_to_end(client)
        self.running += 1
        ticket.move_on("running")

    def _remove(self, ticket: Ticket) -> None:
        line = self._lines[ticket.client]
        line.remove(ticket)
        self.waiting -= 1
        if not line:
            del self._lines[ticket.client]

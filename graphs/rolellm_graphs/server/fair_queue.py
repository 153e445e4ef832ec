"""A bounded queue in which clients take turns; nothing here knows of time or of asyncio."""

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import Literal

State = Literal["waiting", "running", "refused", "left"]


class QueueFullError(Exception):
    """As many requests wait as may."""


class Ticket:
    """One request's place: in the queue, or among those that are being answered."""

    def __init__(self, client: Hashable, changed: Callable[[], None]) -> None:
        """Wait for this client.

        Args:
            client: whose request it is.
            changed: called when the request may begin, or has to give its place up.
        """
        self.client = client
        self.state: State = "waiting"
        self._changed = changed

    def move_on(self, state: Literal["running", "refused"]) -> None:
        """End the waiting, and tell whoever waits."""
        self.state = state
        self._changed()


class FairQueue:
    """Lets a limited number of requests run at once; the others wait.

    When a place becomes free, the next client in the round gets it, for the oldest of its requests. So a
    client with fifty requests and one with a single request take turns, and the single one does not wait
    for the fifty.
    """

    def __init__(self, limit: int, capacity: int) -> None:
        """Make an empty queue.

        Args:
            limit: requests that run at once, at most.
            capacity: requests that wait, at most.
        """
        self._limit = limit
        self._capacity = capacity
        self._lines: OrderedDict[Hashable, deque[Ticket]] = OrderedDict()
        self.running = 0
        """Requests that may be answered now."""
        self.waiting = 0
        """Requests in the queue."""

    def enter(self, client: Hashable, changed: Callable[[], None]) -> Ticket:
        """Add a request; its ticket's state says whether it may begin at once.

        When the queue is full, a client with few requests takes the place of the latest request of the
        client that has most, so that nobody can fill the queue alone.

        Args:
            client: whose request it is.
            changed: called when a waiting request may begin, or has to give its place up.

        Raises:
            QueueFullError: as many wait as may, and no client has more requests among them.
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
        """Give the request's place up, whether it waits or runs; a second time changes nothing."""
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

"""The queue alone: who begins, and in which order."""

from collections import Counter
from functools import partial
from itertools import pairwise

import pytest
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from rolellm_graphs.server.fair_queue import FairQueue, QueueFullError, Ticket
from rolellm_graphs.server.queue_pace import QueuePace


def nothing() -> None:
    """Nobody waits for the ticket."""


def test_clients_take_turns_and_each_ones_requests_come_in_their_order() -> None:
    queue = FairQueue(1, 100)
    running = queue.enter("busy", nothing)
    waiting = {name: queue.enter(name[0], nothing) for name in ("a1", "a2", "a3", "b1", "c1", "c2")}
    order = []
    while waiting:
        queue.leave(running)
        ((name, running),) = [one for one in waiting.items() if one[1].state == "running"]
        order.append(name)
        del waiting[name]
    assert order == ["a1", "b1", "c1", "a2", "c2", "a3"]


def test_one_request_does_not_wait_for_another_clients_fifty() -> None:
    queue = FairQueue(1, 100)
    tickets = [queue.enter("many", nothing) for _ in range(50)]
    single = queue.enter("single", nothing)
    queue.leave(tickets[0])
    queue.leave(tickets[1])
    assert single.state == "running"


def test_who_fills_the_queue_makes_room_for_who_has_less() -> None:
    queue = FairQueue(1, 3)
    many = [queue.enter("many", nothing) for _ in range(4)]
    with pytest.raises(QueueFullError):
        queue.enter("many", nothing)
    other = queue.enter("other", nothing)
    assert [one.state for one in many] == ["running", "waiting", "waiting", "refused"]
    assert other.state == "waiting"
    with pytest.raises(QueueFullError):  # they have as many as each other but for one
        queue.enter("other", nothing)


class Queue(RuleBasedStateMachine):
    """Everything that can happen to a queue, in any order."""

    @initialize(limit=st.integers(1, 3), capacity=st.integers(0, 6))
    def begin(self, limit: int, capacity: int) -> None:
        self.limit, self.capacity = limit, capacity
        self.queue = FairQueue(limit, capacity)
        self.there: list[Ticket] = []
        """Those that have entered and not left, oldest first."""
        self.told: Counter[Ticket] = Counter()
        self.waited: set[Ticket] = set()
        self.overtaken: dict[str, Counter[str]] = {}
        """For each client that waits, how often each other began since its own turn."""

    def of(self, state: str) -> list[Ticket]:
        return [ticket for ticket in self.there if ticket.state == state]

    def lines(self) -> Counter[str]:
        return Counter(str(ticket.client) for ticket in self.of("waiting"))

    @rule(client=st.sampled_from("abcd"))
    def enter(self, client: str) -> None:
        lines, was_full = self.lines(), self.queue.waiting == self.capacity
        box: list[Ticket] = []
        try:
            ticket = self.queue.enter(client, lambda: self.changed(box[0]))
        except QueueFullError:
            assert was_full
            assert self.queue.running == self.limit
            assert max(lines.values(), default=0) <= lines[client] + 1
            return
        box.append(ticket)
        self.there.append(ticket)
        if ticket.state == "waiting":
            self.waited.add(ticket)
            self.overtaken.setdefault(client, Counter())
        displaced = [one for one in self.of("refused") if self.told[one] == 1 and one in self.waited]
        for one in displaced:
            assert was_full
            assert lines[str(one.client)] > lines[client] + 1
            self.there.remove(one)
            self.queue.leave(one)
        assert len(displaced) <= 1

    def changed(self, ticket: Ticket) -> None:
        self.told[ticket] += 1
        if ticket.state == "running":
            client = str(ticket.client)
            same = [one for one in self.of("waiting") if one.client == client]
            assert all(self.there.index(ticket) < self.there.index(one) for one in same)
            self.overtaken.pop(client, None)
            for other, by in self.overtaken.items():
                by[client] += 1
                assert by[client] <= 1, f"{other} waited for {client} twice"
            if same:
                self.overtaken[client] = Counter()

    @precondition(lambda self: self.there)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        ticket = data.draw(st.sampled_from(self.there))
        self.there.remove(ticket)
        waited = ticket.state == "waiting"
        if waited and not any(one.client == ticket.client for one in self.of("waiting")):
            self.overtaken.pop(str(ticket.client), None)
        for _ in range(data.draw(st.integers(1, 2))):
            self.queue.leave(ticket)
        assert self.told[ticket] == (0 if waited else ticket in self.waited)

    @invariant()
    def all_are_counted_and_no_place_is_idle(self) -> None:
        waiting, running = len(self.of("waiting")), len(self.of("running"))
        assert waiting + running == len(self.there)  # nobody is lost
        assert self.queue.waiting == waiting <= self.capacity
        assert self.queue.running == running <= self.limit
        assert running == self.limit or not waiting

    def teardown(self) -> None:
        """Whoever waits gets in, when all others leave."""
        for ticket in [*getattr(self, "there", [])]:
            if ticket.state == "running":
                self.queue.leave(ticket)
                self.there.remove(ticket)
                self.all_are_counted_and_no_place_is_idle()


Queue.TestCase.settings = examples(0.3, stateful_step_count=40)
TestQueue = Queue.TestCase


def test_the_pace_tells_how_long_the_queue_takes() -> None:
    pace = QueuePace()
    for second in range(0, 20, 2):
        pace.note(float(second))
    assert pace.seconds_for(5, 20.0) == 10
    assert pace.seconds_for(1, 20.0) == 2
    assert pace.seconds_for(5, 40.0) == 20  # nobody has begun since


@given(
    begun=st.lists(st.floats(0, 1000), max_size=20).map(sorted),
    after=st.floats(0, 100),
    requests=st.integers(1, 2000),
)
def test_an_estimate_is_whole_and_bounded_and_grows_with_the_queue(
    begun: list[float], after: float, requests: int
) -> None:
    pace = QueuePace()
    for moment in begun:
        pace.note(moment)
    now = (begun[-1] if begun else 0.0) + after
    seconds = list(map(partial(pace.seconds_for, now=now), (requests, requests + 1, requests * 2)))
    assert all(1 <= one <= 600 for one in seconds)
    assert all(one <= other for one, other in pairwise(seconds))

"""Requests that wait for their turn at the server."""

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from helpers.api_server import PATIENCE, served
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_graphs.server.concurrency import Admission, ConcurrencyLimit
from rolellm_graphs.server.current_request import KEY_NAME
from rolellm_graphs.server.metrics import Metrics

CHAT = "/v1/chat/completions"
ASKED = {"model": "sherlock-holmes", "messages": [{"role": "user", "content": "Who are you?"}]}


@dataclass
class Asking:
    """One request on its way."""

    task: "asyncio.Task[None]"
    hang_up: asyncio.Event
    sent: list[Message]

    @property
    def status(self) -> int | None:
        return next((one["status"] for one in self.sent if one["type"] == "http.response.start"), None)

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.sent[0]["headers"])


@dataclass
class Office:
    """Answers a request when a test lets it; `begun` has their names in the order in which they began."""

    begun: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    gates: dict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.begun.append(scope["path"])
        self.bodies.append((await receive())["body"])
        await self.gates[scope["path"]].wait()
        if scope["path"].startswith("broken"):
            raise KeyError(scope["path"])
        await PlainTextResponse("Good day.")(scope, receive, send)


class Door:
    """The limit before an office, and requests to it."""

    def __init__(self, *, concurrent: int = 1, queue: int = 100, queue_seconds: float = PATIENCE) -> None:
        self.office = Office()
        self.metrics = Metrics()
        self.admission = Admission(
            concurrent=concurrent, queue=queue, queue_seconds=queue_seconds, metrics=self.metrics
        )
        self._app = ConcurrencyLimit(self.office, self.admission)

    async def ask(self, name: str, *, key: str = "", peer: str = "::1", method: str = "POST") -> Asking:
        """Send a request, and see what becomes of it before anything else happens."""
        hang_up, sent, parts = asyncio.Event(), list[Message](), [name.encode()]
        scope = {"type": "http", "method": method, "path": name, "headers": [], "client": (peer, 1)}
        if key:
            scope[KEY_NAME] = key

        async def receive() -> Message:
            if parts:
                return {"type": "http.request", "body": parts.pop(), "more_body": False}
            await hang_up.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            sent.append(message)

        async def call() -> None:
            await self._app(scope, receive, send)

        asking = Asking(asyncio.create_task(call()), hang_up, sent)
        await settled()
        return asking

    async def let_go(self, name: str) -> None:
        """Let the office answer."""
        self.office.gates[name].set()
        await settled()

    def figure(self, line: str) -> float:
        """One of the counters, as Prometheus reads it."""
        (told,) = [one for one in self.metrics.text().decode().splitlines() if one.startswith(f"{line} ")]
        return float(told.split()[-1])


async def settled() -> None:
    """Everything has happened that happens without time or a test's doing."""
    for _ in range(50):
        await asyncio.sleep(0)


async def test_no_more_than_allowed_are_answered_at_once_and_all_are_in_the_end() -> None:
    door = Door(concurrent=2)
    asked = [await door.ask(f"{number}") for number in range(5)]
    assert (door.office.begun, door.admission.waiting) == (["0", "1"], 3)
    for number in range(5):
        await door.let_go(f"{number}")
        assert door.admission.waiting == max(0, 2 - number)
    assert [one.status for one in asked] == [200] * 5
    assert door.office.begun == [one.decode() for one in door.office.bodies] == list("01234")


@pytest.mark.parametrize(
    ("many", "single"),
    [
        ({"key": "one"}, {"key": "other"}),
        ({"peer": "192.0.2.1"}, {"peer": "192.0.2.2"}),
        ({"peer": "192.0.2.1"}, {"key": "a key", "peer": "192.0.2.1"}),
    ],
)
async def test_a_client_with_many_requests_does_not_keep_another_out(
    many: dict[str, Any], single: dict[str, Any]
) -> None:
    door = Door()
    for number in range(10):
        await door.ask(f"many{number}", **many)
    await door.ask("single", **single)
    await door.let_go("many0")
    await door.let_go("many1")
    assert door.office.begun == ["many0", "many1", "single"]


async def test_a_key_is_one_client_wherever_it_comes_from() -> None:
    door = Door()
    for number in range(3):
        await door.ask(f"many{number}", key="one", peer="192.0.2.1")
    await door.ask("last", key="one", peer="192.0.2.2")
    for number in range(3):
        await door.let_go(f"many{number}")
    assert door.office.begun == ["many0", "many1", "many2", "last"]


@pytest.mark.parametrize("how", ["hangs up", "is cancelled"])
async def test_who_leaves_while_waiting_frees_the_place_at_once(how: str) -> None:
    door = Door()
    await door.ask("first")
    leaving, last = await door.ask("leaving"), await door.ask("last")
    assert door.figure("rolellm_waiting") == 2
    if how == "hangs up":
        leaving.hang_up.set()
    else:
        leaving.task.cancel()
    await settled()
    assert leaving.task.done()
    assert door.admission.waiting == door.figure("rolellm_waiting") == 1
    await door.let_go("first")
    await door.let_go("last")
    assert last.status == 200
    assert door.office.begun == ["first", "last"]
    assert leaving.status in (None, 499)
    assert door.figure("rolellm_waited_seconds_count") == 2


async def test_an_answer_that_fails_or_is_cancelled_frees_its_place() -> None:
    door = Door()
    broken, cancelled, last = [await door.ask(name) for name in ("broken", "cancelled", "last")]
    await door.let_go("broken")
    with pytest.raises(KeyError):
        await broken.task
    cancelled.task.cancel()
    await settled()
    await door.let_go("last")
    assert last.status == 200


async def test_who_waits_too_long_is_told_when_to_come_again() -> None:
    door = Door(queue_seconds=0.01)
    first = await door.ask("first")
    late = await door.ask("late")
    await late.task
    assert late.status == 429
    assert int(late.headers[b"retry-after"]) >= 1
    assert b"has waited 0.01 seconds for its turn; try again in" in late.sent[1]["body"]
    assert door.figure('rolellm_refused_total{reason="waited"}') == 1
    assert door.figure("rolellm_waiting") == 0
    await door.let_go("first")
    assert first.status == 200
    assert door.office.begun == ["first"]


async def test_when_the_queue_is_full_who_has_most_in_it_is_told_to_come_again() -> None:
    door = Door(queue=2)
    asked = [await door.ask(f"{number}", key="many") for number in range(4)]
    assert [one.status for one in asked] == [None, None, None, 429]
    other = await door.ask("other", key="other")
    assert [one.status for one in (*asked, other)] == [None, None, 429, 429, None]
    assert door.figure('rolellm_refused_total{reason="queue_full"}') == 2
    for name in ("0", "1", "other"):
        await door.let_go(name)
    assert other.status == 200


async def test_whoever_only_looks_does_not_wait() -> None:
    door = Door(queue=0)
    await door.ask("first")
    looking = await door.ask("looking", method="GET")
    await door.let_go("looking")
    assert looking.status == 200


async def health(client: httpx.AsyncClient) -> dict[str, Any]:
    told: dict[str, Any] = (await client.get("/health")).json()
    return told


async def until(client: httpx.AsyncClient, **figures: int) -> None:
    """Until `/health` tells these figures."""
    async with asyncio.timeout(PATIENCE):
        while True:
            if figures.items() <= (await health(client)).items():
                return
            await asyncio.sleep(0.01)


async def test_more_than_fit_wait_and_are_all_answered() -> None:
    model = ScriptedChatModel(replies=["one two three"], seconds_per_word=0.05)
    async with served(model, concurrent=2) as client:
        bodies = [{**ASKED, "stream": bool(number % 2)} for number in range(12)]
        answers = await asyncio.gather(*(client.post(CHAT, json=body) for body in bodies))
        assert [one.status_code for one in answers] == [200] * 12
        assert await health(client) | {"version": ""} == {
            "status": "ok",
            "version": "",
            "answering": 0,
            "waiting": 0,
        }
        told = (await client.get("/metrics")).text
    assert "rolellm_waited_seconds_count 12.0" in told
    assert "rolellm_waiting 0.0" in told
    assert 'rolellm_refused_total{reason="waited"} 0.0' in told


@pytest.mark.parametrize("streams", [True, False])
async def test_health_tells_who_waits_and_a_hang_up_in_the_queue_is_known_at_once(streams: bool) -> None:
    model = ScriptedChatModel(replies=["word " * 6000], seconds_per_word=0.02)
    async with served(model, concurrent=1) as client:
        body = {**ASKED, "stream": streams}
        first = asyncio.create_task(client.post(CHAT, json=body))
        await until(client, answering=1, waiting=0)
        waiting = [asyncio.create_task(client.post(CHAT, json=body)) for _ in range(2)]
        await until(client, answering=1, waiting=2)
        for left, task in ((1, waiting[0]), (0, waiting[1])):
            task.cancel()
            await until(client, answering=1, waiting=left)
        first.cancel()
        await until(client, answering=0, waiting=0)
        await asyncio.gather(first, *waiting, return_exceptions=True)
        assert len(model.calls) == 1  # who hung up in the queue was never answered
        told = (await client.get("/metrics")).text
    assert f'rolellm_requests_total{{path="{CHAT}",status="499"}}' in told

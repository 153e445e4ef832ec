"""Who may ask the server, how much, and how many at a time."""

import asyncio
import socket
from typing import Any

import httpx
import pytest
from helpers.api_server import PATIENCE, asked_in_process, options_of, served

from rolellm_agents.errors import SettingsError
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_graphs.server.app import create_app
from rolellm_graphs.server.endpoint import check_access
from rolellm_graphs.server.options import ServerOptions

CHAT = "/v1/chat/completions"
ASKED = {"model": "sherlock-holmes", "messages": [{"role": "user", "content": "Who are you?"}]}


def quick() -> ScriptedChatModel:
    return ScriptedChatModel(replies=["Good day."])


def slow() -> ScriptedChatModel:
    """Talks for a minute unless it is stopped."""
    return ScriptedChatModel(replies=["word " * 600], seconds_per_word=0.1)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Bearer "}, 401),
        ({"Authorization": "Basic first"}, 401),
        ({"Authorization": "Bearer first"}, 200),
        ({"Authorization": "bearer second"}, 200),
        ({"x-api-key": "second"}, 200),
        ({"Authorization": "Bearer fir\xe9st".encode("latin-1")}, 401),
    ],
)
async def test_a_key_opens_and_nothing_else_does(headers: Any, status: int) -> None:
    app = create_app(options_of(quick(), api_keys=("first", "second")))
    async with asked_in_process(app) as client:
        answers = [
            await client.post(CHAT, json=ASKED, headers=headers),
            await client.get("/v1/models", headers=headers),
            await client.get("/metrics", headers=headers),
        ]
        unknown = await client.get("/nothing", headers=headers)
        health = await client.get("/health")
    assert [one.status_code for one in answers] == [status] * 3
    assert unknown.status_code == (404 if status == 200 else 401)
    assert health.status_code == 200
    if status == 401:
        assert answers[0].json()["error"]["code"] == "invalid_api_key"
        assert answers[0].headers["www-authenticate"] == "Bearer"


async def test_a_body_that_is_too_large_is_refused_whether_its_length_is_told_or_not() -> None:
    large = b'{"model": "' + b"x" * 5000 + b'"}'

    async def in_pieces() -> Any:
        for start in range(0, len(large), 512):
            yield large[start : start + 512]

    async with served(quick(), body_bytes=4096) as client:
        headers = {"Content-Type": "application/json"}
        told = await client.post(CHAT, content=large, headers=headers)
        untold = await client.post(CHAT, content=in_pieces(), headers=headers)
        fits = await client.post(CHAT, json=ASKED)
    assert told.status_code == untold.status_code == 413
    assert "larger than 4,096 bytes" in told.json()["error"]["message"]
    assert fits.status_code == 200


async def test_a_body_that_never_comes_does_not_hold_a_place() -> None:
    async with served(quick(), body_seconds=0.3, concurrent=1) as client:
        host, port = client.base_url.host, client.base_url.port
        reader, writer = await asyncio.open_connection(host, port)
        head = f"POST {CHAT} HTTP/1.1\r\nHost: x\r\n"
        head += "Content-Type: application/json\r\nContent-Length: 90\r\n\r\n"
        writer.write(head.encode() + b'{"model"')
        status = (await reader.readline()).decode()
        writer.close()
        assert " 408 " in status
        assert (await client.post(CHAT, json=ASKED)).status_code == 200


async def test_without_a_queue_more_than_fit_are_told_to_come_again_and_later_get_in() -> None:
    model = ScriptedChatModel(replies=["one two three"], seconds_per_word=0.2)
    async with served(model, concurrent=2, queue=0) as client:
        answers = await asyncio.gather(*(client.post(CHAT, json=ASKED) for _ in range(8)))
        again = await client.post(CHAT, json=ASKED)
        while_crowded = [one.status_code for one in answers]
    assert set(while_crowded) == {200, 429}
    assert while_crowded.count(200) >= 2
    refused = next(one for one in answers if one.status_code == 429)
    assert int(refused.headers["retry-after"]) >= 1
    assert refused.json()["error"]["type"] == "rate_limit_error"
    assert again.status_code == 200


async def answering(client: httpx.AsyncClient) -> int:
    told = await client.get("/health")
    return int(told.json()["answering"])


async def until_answering(client: httpx.AsyncClient, count: int) -> None:
    async with asyncio.timeout(20):
        while True:
            if await answering(client) == count:
                return
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("streams", [True, False])
async def test_when_a_client_hangs_up_the_answer_stops(streams: bool) -> None:
    model = slow()
    async with served(model, concurrent=1) as client:
        asking = asyncio.create_task(client.post(CHAT, json={**ASKED, "stream": streams}))
        await until_answering(client, 1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await until_answering(client, 0)
        model.replies, model.seconds_per_word = ["Good day."], 0
        assert (await client.post(CHAT, json=ASKED)).status_code == 200


@pytest.mark.slow
async def test_a_thousand_connections_are_all_answered() -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 4096:
        pytest.skip("this machine allows too few open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
    try:
        async with served(quick(), concurrent=16, queue_seconds=600) as client:
            limits = httpx.Limits(max_connections=None)
            async with httpx.AsyncClient(base_url=client.base_url, limits=limits, timeout=600) as many:
                answers = await asyncio.gather(*(many.post(CHAT, json=ASKED) for _ in range(1000)))
            assert {one.status_code for one in answers} == {200}
            assert (await client.post(CHAT, json=ASKED)).status_code == 200
            assert await answering(client) == 0
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_only_pages_that_were_named_may_ask_from_a_browser() -> None:
    asked = {"Origin": "https://mine.example", "Access-Control-Request-Method": "POST"}
    async with asked_in_process(create_app(options_of(quick()))) as client:
        closed = await client.options(CHAT, headers=asked)
    app = create_app(options_of(quick(), origins=("https://mine.example",), api_keys=("key",)))
    async with asked_in_process(app) as client:
        opened = await client.options(CHAT, headers=asked)
        strangers = await client.options(CHAT, headers={**asked, "Origin": "https://other.example"})
    assert "access-control-allow-origin" not in closed.headers
    assert opened.headers["access-control-allow-origin"] == "https://mine.example"
    assert "access-control-allow-origin" not in strangers.headers


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost", 200), ("127.0.0.1:8000", 200), ("[::1]:8000", 200), ("evil.example", 403), ("", 403)],
)
async def test_a_name_that_was_bent_to_this_machine_gets_nothing(host: str, status: int) -> None:
    app = create_app(options_of(quick(), hosts=("localhost", "127.0.0.1", "[::1]")))
    async with asked_in_process(app) as client:
        answer = await client.get("/v1/models", headers={"Host": host})
    assert answer.status_code == status


@pytest.mark.parametrize(
    ("host", "keys", "opens"),
    [
        ("127.0.0.1", (), True),
        ("localhost", (), True),
        ("::1", (), True),
        ("0.0.0.0", (), False),  # noqa: S104
        ("192.0.2.1", (), False),
        (socket.gethostname(), (), False),
        ("0.0.0.0", ("key",), True),  # noqa: S104
    ],
)
def test_others_are_let_in_with_a_key_alone(host: str, keys: tuple[str, ...], opens: bool) -> None:
    if opens:
        check_access(host, ServerOptions(api_keys=keys))
    else:
        with pytest.raises(SettingsError, match="set a key with --api-key"):
            check_access(host, ServerOptions(api_keys=keys))


async def test_clients_that_dawdle_over_their_bodies_keep_nobody_out() -> None:
    async with served(quick(), body_seconds=PATIENCE, concurrent=2, queue=0) as client:
        host, port = client.base_url.host, client.base_url.port
        head = f"POST {CHAT} HTTP/1.1\r\nHost: x\r\n"
        head += "Content-Type: application/json\r\nContent-Length: 90\r\n\r\n"
        dawdling = []
        for _ in range(4):
            _, writer = await asyncio.open_connection(host, port)
            writer.write(head.encode() + b'{"model"')
            await writer.drain()
            dawdling.append(writer)
        assert await answering(client) == 0  # what was sent before is known to the server by now
        answers = [await client.post(CHAT, json=ASKED) for _ in range(3)]
        for writer in dawdling:
            writer.close()
    assert [one.status_code for one in answers] == [200] * 3


async def test_all_bodies_together_take_no_more_than_they_may() -> None:
    async def one_half() -> Any:
        yield b" " * 600
        await arrived.wait()
        yield b""

    async with served(quick(), body_bytes=1000, body_memory=1000, body_seconds=PATIENCE) as client:
        arrived = asyncio.Event()
        headers = {"Content-Type": "application/json"}
        first = asyncio.create_task(client.post(CHAT, content=one_half(), headers=headers))
        async with asyncio.timeout(PATIENCE):
            while True:
                refused = await client.post(CHAT, content=b" " * 900, headers=headers)
                if refused.status_code == 503:
                    break
                await asyncio.sleep(0.01)
        arrived.set()
        await first
        assert int(refused.headers["retry-after"]) >= 1
        assert refused.json()["error"]["code"] == "overloaded"
        for _ in range(3):  # what was taken is given back, and no more
            assert (await client.post(CHAT, json=ASKED)).status_code == 200
        assert (await client.post(CHAT, content=b" " * 1001, headers=headers)).status_code == 413

"""What a server bears before it has asked for a key: half requests, large heads, slow readers, TLS."""

import asyncio
import json
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
import uvicorn
from helpers.api_server import PATIENCE, options_of, rolellm_serve, served
from helpers.commands import rolellm

from rolellm_agents.errors import SettingsError
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_graphs.server.app import create_app
from rolellm_graphs.server.endpoint import tls_settings
from rolellm_graphs.server.protocol import HEAD_BYTES, ConnectionLimits, GuardedProtocol
from rolellm_graphs.server.serving import server_config

CHAT = "/v1/chat/completions"
ASKED: dict[str, Any] = {
    "model": "sherlock-holmes",
    "messages": [{"role": "user", "content": "Who are you?"}],
}
REQUEST = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"

Peer = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def quick() -> ScriptedChatModel:
    return ScriptedChatModel(replies=["Good day."])


async def connected(client: httpx.AsyncClient, sent: bytes = b"") -> Peer:
    reader, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
    writer.write(sent)
    await writer.drain()
    return reader, writer


async def told(peer: Peer) -> str:
    """Everything that the server sends until it closes, which it may do before it has read everything."""
    sent = b""
    async with asyncio.timeout(PATIENCE):
        with suppress(ConnectionResetError):
            while part := await peer[0].read(2**16):
                sent += part
    peer[1].close()
    return sent.decode()


def error_in(response: str) -> str:
    message: str = json.loads(response.partition("\r\n\r\n")[2])["error"]["message"]
    return message


@pytest.fixture
def many_files() -> Iterator[None]:
    """Room for some thousand open files."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 4096:
        pytest.skip("this machine allows too few open files")
    if soft < 4096:
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def until(client: httpx.AsyncClient, count: int) -> None:
    """As many requests are answered or wait."""
    async with asyncio.timeout(PATIENCE):
        while True:
            health = (await client.get("/health")).json()
            if health["answering"] + health["waiting"] == count:
                return
            await asyncio.sleep(0.02)


@pytest.mark.usefixtures("many_files")
async def test_half_open_connections_are_closed_beside_streams_that_all_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    doors = list[ConnectionLimits]()

    def limits_of(*values: Any) -> ConnectionLimits:
        doors.append(ConnectionLimits(*values))
        return doors[-1]

    monkeypatch.setattr("rolellm_graphs.server.serving.ConnectionLimits", limits_of)
    model = ScriptedChatModel(replies=["one two three"], seconds_per_word=0.05)
    async with served(model, head_seconds=PATIENCE) as client:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=client.base_url, limits=limits, timeout=PATIENCE) as many:
            asked = {**ASKED, "stream": True}
            streams = [asyncio.create_task(many.post(CHAT, json=asked)) for _ in range(200)]
            await until(client, 200)  # all heads are here, so that only half requests can be late
            doors[0].head_seconds = 0.2
            beginnings = (b"", b"GET", REQUEST[:-2], b"POST " + CHAT.encode() + b" HTTP/1.1\r\nContent-Le")
            half_open = [await connected(client, beginnings[number % 4]) for number in range(300)]
            closed = await asyncio.gather(*map(told, half_open))
            answers = await asyncio.gather(*streams)
        assert (await client.get("/health")).status_code == 200
    assert [one.status_code for one in answers] == [200] * 200
    assert all(one.text.endswith("data: [DONE]\n\n") for one in answers)
    assert closed[0::4] == [""] * 75  # who sent nothing is told nothing
    assert {one.split("\r\n")[0] for one in closed[1::4]} == {"HTTP/1.1 408 Request Timeout"}
    assert error_in(closed[2]) == "The request took too long to arrive; send it again."


async def test_a_head_that_trickles_in_has_no_more_time() -> None:
    async with served(quick(), head_seconds=0.3) as client:
        peer = await connected(client)

        async def trickle() -> None:
            while True:
                peer[1].write(b"X: y\r\n")
                await asyncio.sleep(0.02)

        peer[1].write(REQUEST[:-2])
        trickling = asyncio.create_task(trickle())
        assert " 408 " in await told(peer)
        trickling.cancel()
        await asyncio.gather(trickling, return_exceptions=True)


async def test_a_kept_connection_may_be_used_again() -> None:
    async with served(quick(), head_seconds=PATIENCE) as client:
        reader, writer = await connected(client, REQUEST)
        for _ in range(3):
            async with asyncio.timeout(PATIENCE):
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
                assert head.startswith(b"HTTP/1.1 200")
                assert await reader.readexactly(length)
            writer.write(REQUEST)
        writer.close()


@pytest.mark.parametrize(
    "head",
    [
        b"GET /health HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 4 * HEAD_BYTES,
        b"GET /health HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * HEAD_BYTES,
        b"GET /" + b"x" * 4 * HEAD_BYTES,
    ],
    ids=["one", "many", "path"],
)
async def test_a_head_is_refused_when_it_is_too_large(head: bytes) -> None:
    async with served(quick()) as client:
        reader, writer = await connected(client)
        taken = 0
        try:
            for start in range(0, len(head), 4096):
                writer.write(head[start : start + 4096])
                await writer.drain()
                await asyncio.sleep(0)
                taken += 4096
                if reader.at_eof():
                    break
            response = await told((reader, writer))
        except ConnectionError:
            response = ""  # the server has closed, and what it said may be lost
        assert " 200 " not in response
        assert (await client.get("/health")).status_code == 200


async def test_what_is_no_http_is_told_so() -> None:
    async with served(quick()) as client:
        response = await told(await connected(client, b"\x16\x03\x01 hello\r\n\r\n"))
    assert response.startswith("HTTP/1.1 400 ")
    assert error_in(response) == (
        "The request is not valid HTTP, or its headers exceed 65,536 bytes; correct it."
    )


async def test_a_web_socket_is_an_ordinary_request() -> None:
    upgrade = b"Connection: upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n"
    async with served(quick(), api_keys=("key",)) as client:
        request = REQUEST.replace(b"health", b"v1/x")[:-2] + upgrade + b"\r\n"
        response = await told(await connected(client, request))
    assert response.startswith("HTTP/1.1 401 ")


@pytest.mark.parametrize("is_told", [True, False])
async def test_a_body_that_is_too_large_is_refused_while_it_is_sent(is_told: bool) -> None:
    body = b"x" * 2**22  # more than fits into the buffers of a connection at once
    length = f"Content-Length: {len(body)}" if is_told else "Transfer-Encoding: chunked"
    head = f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{length}\r\n\r\n"
    async with served(quick(), body_bytes=4096) as client:
        reader, writer = await connected(client, head.encode())
        writer.write(body if is_told else b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
        async with asyncio.timeout(PATIENCE):
            await writer.drain()  # a reset would raise
        response = await told((reader, writer))
    assert response.startswith("HTTP/1.1 413 ")
    assert "larger than 4,096 bytes" in error_in(response)


async def test_the_rest_of_a_refused_body_is_not_awaited_for_ever() -> None:
    head = f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"
    async with served(quick(), api_keys=("key",), head_seconds=0.2) as client:
        response = await told(await connected(client, head.encode() + b"{"))
    assert response.startswith("HTTP/1.1 401 ")


async def test_a_client_that_reads_nothing_is_left() -> None:
    class Never(asyncio.Transport):
        """A connection whose other end reads nothing."""

        def abort(self) -> None:
            aborted.set()

        def is_closing(self) -> bool:
            return False

        def pause_reading(self) -> None: ...

    aborted = asyncio.Event()
    options = options_of(quick(), stuck_seconds=0.05)
    config = server_config(create_app(options), options)
    config.load()
    make = cast("type[GuardedProtocol]", config.http_protocol_class)
    protocol = make(config, uvicorn.server.ServerState(), {})
    transport = Never()
    protocol.connection_made(transport)
    protocol.pause_writing()
    protocol.resume_writing()
    protocol.pause_writing()
    async with asyncio.timeout(PATIENCE):
        await aborted.wait()
    protocol.connection_lost(ConnectionAbortedError())


def test_an_address_has_so_many_connections_and_this_machine_all_it_wants() -> None:
    limits = ConnectionLimits(head_seconds=1, stuck_seconds=1, per_address=2)
    assert [limits.enter(one) for one in ("192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2")] == [
        True,
        True,
        False,
        True,
    ]
    assert [limits.enter(f"2001:db8::{number}") for number in (1, 2, 3)] == [True, True, False]
    assert all(limits.enter(one) for one in ("127.0.0.1", "::1") for _ in range(9))
    limits.leave("192.0.2.1")
    assert limits.enter("192.0.2.1")


async def test_a_connection_too_many_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rolellm_graphs.server.protocol.is_loopback", lambda _: False)
    async with served(quick(), connections_per_address=2, head_seconds=PATIENCE) as client:
        first, second = [await connected(client, REQUEST[:-2]) for _ in range(2)]
        response = await told(await connected(client))
        assert response.startswith("HTTP/1.1 429 ")
        assert error_in(response) == "Your address has 2 connections to this server; close some."
        first[1].write(b"Connection: close\r\n\r\n")
        assert (await told(first)).startswith("HTTP/1.1 200 ")
        assert (await client.get("/health")).status_code == 200
        second[1].close()


# TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate of our own for 127.0.0.1, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("tls")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    command += " -subj /CN=here -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out certificate.pem"
    subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    return folder / "certificate.pem", folder / "key.pem"


@pytest.mark.core
def test_https_is_served_with_a_certificate(certificate: tuple[Path, Path], tmp_path: Path) -> None:
    arguments = ("--certificate", str(certificate[0]), "--private-key", str(certificate[1]))
    environment = {"ROLELLM_HOME": str(tmp_path), "ROLELLM_API_KEY": "key"}
    with rolellm_serve("--model", "scripted:Good day.", *arguments, environment=environment) as (_, url):
        assert url.startswith("https://127.0.0.1:")
        trusted = ssl.create_default_context(cafile=certificate[0])
        answer = httpx.post(
            f"{url}/chat/completions",
            json=ASKED,
            headers={"Authorization": "Bearer key"},
            verify=trusted,
            timeout=PATIENCE,
        )
    assert answer.json()["choices"][0]["message"]["content"] == "Good day."


def test_files_that_are_no_certificate_are_refused(certificate: tuple[Path, Path], tmp_path: Path) -> None:
    other = tmp_path / "other.pem"
    other.write_text("-----BEGIN CERTIFICATE-----\nno\n", encoding="utf-8")
    assert tls_settings(None, None) == {}
    with pytest.raises(SettingsError, match="--private-key needs its --certificate"):
        tls_settings(None, certificate[1])
    for given in (
        (other, None),
        (certificate[0], None),
        (certificate[0], other),
        (tmp_path / "none.pem", None),
    ):
        with pytest.raises(SettingsError, match="cannot be used for HTTPS"):
            tls_settings(*given)
    locked = tmp_path / "locked.pem"
    command = [
        "openssl",
        "ec",
        "-in",
        str(certificate[1]),
        "-aes128",
        "-passout",
        "pass:x1234",
        "-out",
        str(locked),
    ]
    subprocess.run(command, check=True, capture_output=True)
    with pytest.raises(SettingsError, match="without a password"):
        tls_settings(certificate[0], locked)
    refused = rolellm("serve", "--private-key", str(certificate[1]))
    assert (refused.returncode, "--certificate" in refused.stderr) == (2, True)

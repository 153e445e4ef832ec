"""Send an input to the server as the bytes of a connection.

    python tests/fuzz/fuzz_requests.py -max_total_time=3600 CORPUS

The server answers in HTTP or closes the connection, never with a status of 500 or above, and goes on
answering others.
"""

import asyncio
import atexit
import json
import logging
import re
import sys
from itertools import count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import h11

from fuzz.harness import fuzz, instrumented

with instrumented("rolellm_graphs.server"):
    from helpers.api_server import options_of

    from rolellm_agents.models.scripted import ScriptedChatModel
    from rolellm_graphs.server.app import create_app
    from rolellm_graphs.server.protocol import GuardedProtocol
    from rolellm_graphs.server.serving import server_config

_KEY = "a-key"
_PATIENCE = 60.0
_ADDRESSES = count()
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
_CHAT = {
    "model": "sherlock-holmes",
    "messages": [{"role": "system", "content": "A room."}, {"role": "user", "content": "Who are you?"}],
    "temperature": 0.5,
    "stop": ["\n"],
    "max_tokens": 8,
    "response_format": {"type": "text"},
}


def _request(method: str, path: str, body: bytes, *headers: str) -> bytes:
    lines = (f"{method} {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {_KEY}", *headers)
    return "\r\n".join((*lines, f"Content-Length: {len(body)}", "", "")).encode() + body


def seeds() -> dict[str, bytes]:
    """Requests for a whole answer, a streamed one, and other paths."""
    chat = json.dumps(_CHAT).encode()
    stream = json.dumps({**_CHAT, "stream": True, "n": 1, "seed": 3}).encode()
    text = json.dumps({"model": "jack-sparrow@system", "prompt": "Who are you?"}).encode()
    chunked = (
        b"Transfer-Encoding: chunked\r\n\r\n" + f"{len(chat):x}\r\n".encode() + chat + b"\r\n0\r\n\r\n"
    )
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: a-key\r\n"
    return {
        "chat": _request("POST", "/v1/chat/completions", chat, "Content-Type: application/json"),
        "stream": _request("POST", "/v1/chat/completions", stream, "Content-Type: application/json"),
        "text": _request("POST", "/v1/completions", text, "Content-Type: application/json"),
        "chunked": head + chunked,
        "two": _request("GET", "/v1/models", b"") + _request("GET", "/metrics", b"", "Connection: close"),
    }


class _Transport(asyncio.Transport):
    """A connection's other end, which keeps what it is sent."""

    def __init__(self, protocol: GuardedProtocol) -> None:
        # An address with many wrong keys is no longer heard.
        peer = f"198.18.{next(_ADDRESSES) % 250}.{next(_ADDRESSES) % 250}"
        super().__init__({"peername": (peer, 5), "sockname": ("192.0.2.1", 80)})
        self.sent = b""
        self._protocol = protocol
        self._closing = False

    def write(self, data: "bytes | bytearray | memoryview[int]") -> None:
        self.sent += bytes(data)

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._protocol.loop.call_soon(self._protocol.connection_lost, None)

    def abort(self) -> None:
        self.close()

    def is_closing(self) -> bool:
        return self._closing

    def pause_reading(self) -> None:
        """Nothing more is sent."""

    def resume_reading(self) -> None:
        """Nothing more is sent."""


class _InternalErrors(logging.Handler):
    """Keeps what is logged with a traceback."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[BaseException] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1]:
            self.found.append(record.exc_info[1])


class _Server:
    """The application and its protocol, without a network."""

    def __init__(self) -> None:
        from uvicorn.server import ServerState

        self.loop = asyncio.new_event_loop()
        options = options_of(ScriptedChatModel(replies=["Good day."]), api_keys=(_KEY,))
        self._config = server_config(
            create_app(options), options, loop="none", lifespan="off", log_config=None
        )
        self._config.load()
        self._state = ServerState()
        self.errors = _InternalErrors()
        for name in ("uvicorn.error", "rolellm_graphs"):
            logger = logging.getLogger(name)
            logger.addHandler(self.errors)
        atexit.register(self.loop.close)

    def send(self, content: bytes) -> bytes:
        """What a connection with these bytes gets until the server has nothing more to do."""
        return self.loop.run_until_complete(self._send(content))

    async def _send(self, content: bytes) -> bytes:
        kind: Any = self._config.http_protocol_class
        protocol: GuardedProtocol = kind(self._config, self._state, {}, _loop=self.loop)
        transport = _Transport(protocol)
        protocol.connection_made(transport)
        for start in range(0, len(content), 700):
            if not transport.is_closing():
                protocol.data_received(content[start : start + 700])
        # Who has sent only a part of a request hangs up.
        if protocol.conn.their_state is not h11.SEND_BODY:
            await self._wait()
        transport.close()
        await asyncio.sleep(0)
        await self._wait()
        return transport.sent

    async def _wait(self) -> None:
        """Wait for the answers of all requests that have arrived."""
        while tasks := [task for task in self._state.tasks if not task.done()]:
            done, _ = await asyncio.wait(tasks, timeout=_PATIENCE)
            if not done:
                raise AssertionError("an answer does not end")


_SERVERS: list[_Server] = []


def one_input(content: bytes) -> None:
    """Send the bytes, and then a good request on another connection."""
    if not _SERVERS:
        _SERVERS.append(_Server())
    (server,) = _SERVERS
    answer = server.send(content)
    if server.errors.found:
        raise AssertionError("the server logs an internal error") from server.errors.found.pop()
    statuses = [int(status) for status in _STATUS.findall(answer)]
    if any(status >= 500 for status in statuses):
        raise AssertionError(f"the server failed: {answer[:300]!r}")
    if answer and not answer.startswith(b"HTTP/1.1 "):
        raise AssertionError(f"the answer is not HTTP: {answer[:300]!r}")
    health = server.send(_request("GET", "/health", b""))
    if not health.startswith(b"HTTP/1.1 200 "):
        raise AssertionError(f"the server no longer answers: {health[:300]!r}")


if __name__ == "__main__":
    fuzz(one_input)

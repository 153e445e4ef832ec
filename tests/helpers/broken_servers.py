"""Small HTTP servers on loopback that answer a chat request the wrong way."""

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

JSON = "application/json"
SSE = "text/event-stream"


@dataclass
class LoopbackServer:
    """A running server, and what it was asked."""

    url: str
    """Its base URL, up to and with `/v1`."""
    requests: list[dict[str, Any]] = field(default_factory=list)
    """The bodies of all requests, oldest first."""
    refused: list[dict[str, Any]] = field(default_factory=list)
    """The bodies of the requests that `serving_up_to` refused."""
    closing: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class Answer:
    """What a server sends back to every request."""

    status: int = 200
    body: str = ""
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    missing: int = 0
    """How many bytes more than it sends it says it will send."""
    silent: bool = False
    """Send nothing after the body, and do not close the connection either, until the server ends."""


def api_error(status: int, message: str, **headers: str) -> Answer:
    """An error as OpenAI's own endpoint words it."""
    body = json.dumps({"error": {"message": message, "type": "invalid_request_error", "code": None}})
    return Answer(status, body, headers={key.replace("_", "-"): value for key, value in headers.items()})


def stream_of(*words: str, end: str = "") -> str:
    """The body of a stream that says `words`, and then `end` as it stands."""
    chunks = ({"index": 0, "delta": {"content": word}, "finish_reason": None} for word in words)
    return "".join(f"data: {json.dumps(_chunk(chunk))}\n\n" for chunk in chunks) + end


def finished(reason: str = "stop") -> str:
    """The proper end of a stream."""
    last = _chunk({"index": 0, "delta": {}, "finish_reason": reason})
    return f"data: {json.dumps(last)}\n\ndata: [DONE]\n\n"


def _chunk(choice: dict[str, Any]) -> dict[str, Any]:
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


@contextmanager
def serving(*answers: Answer) -> Iterator[LoopbackServer]:
    """Run a server that gives these answers, the last one repeatedly; at the end its threads are gone."""
    coming = list(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            if self.path == "/apply-template":  # llama-server alone has it
                self.send_error(404)
                return
            asked.requests.append(body)
            self._answer()

        def do_GET(self) -> None:
            self._answer()

        def _answer(self) -> None:
            answer = coming.pop(0) if len(coming) > 1 else coming[0]
            body = answer.body.encode()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.content_type)
            if not answer.silent:
                self.send_header("Content-Length", str(len(body) + answer.missing))
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
            if answer.silent:
                asked.closing.wait()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with _running(Handler) as asked:
        yield asked


@contextmanager
def serving_up_to(
    limit: int, *, refusal: Callable[[int, int], str], reply: Callable[[list[dict[str, Any]]], str]
) -> Iterator[LoopbackServer]:
    """Run a server whose model reads `limit` tokens, counted by `tokens_sent`.

    `refusal` words the refusal of a longer prompt from the limit and the prompt's size; `reply` answers the
    messages. Only the requests that were answered are in `requests`; the others are in `refused`.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            if not self.path.endswith("/chat/completions"):
                self.send_error(404)
                return
            size = tokens_sent(body)
            if size > limit:
                asked.refused.append(body)
                self._send(api_error(400, refusal(limit, size)))
                return
            asked.requests.append(body)
            text = reply(body["messages"])
            if body.get("stream"):
                self._send(Answer(200, stream_of(text, end=finished()), SSE))
            else:
                message = {"role": "assistant", "content": text}
                choice = {"index": 0, "message": message, "finish_reason": "stop"}
                self._send(Answer(200, json.dumps(_chunk(choice) | {"object": "chat.completion"})))

        def do_GET(self) -> None:
            self.send_error(404)

        def _send(self, answer: Answer) -> None:
            body = answer.body.encode()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with _running(Handler) as asked:
        yield asked


def tokens_sent(body: Mapping[str, Any]) -> int:
    """The tokens of a request for `serving_up_to`: one for 3.5 characters, and 5 for each message."""
    return sum(5 + int(len(message["content"]) / 3.5) for message in body["messages"])


@contextmanager
def serving_paths(answers: Mapping[str, object]) -> Iterator[LoopbackServer]:
    """Run a server that has these paths, each with a JSON value; a function gets the body it was sent."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            asked.requests.append(body)
            self._answer(body)

        def do_GET(self) -> None:
            self._answer(None)

        def _answer(self, sent: Any) -> None:
            answer = answers.get(self.path)
            body = json.dumps(answer(sent) if callable(answer) else answer).encode()
            self.send_response(404 if answer is None else 200)
            self.send_header("Content-Type", JSON)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with _running(Handler) as asked:
        yield asked


@contextmanager
def never_answering() -> Iterator[str]:
    """The URL of a server that takes connections and never says a word."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"


@contextmanager
def not_listening() -> Iterator[str]:
    """The URL of a port that nobody listens on, kept from others meanwhile."""
    with socket.socket() as bound:  # bound, and so nobody else's, but it does not listen
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}/v1"


@contextmanager
def _running(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[LoopbackServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = False  # so that closing the server waits for them
        asked = LoopbackServer(f"http://127.0.0.1:{server.server_port}/v1")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield asked
        finally:
            asked.closing.set()
            server.shutdown()
            thread.join()

"""A server that speaks as much of the Hugging Face Hub's protocol as downloads of models need."""

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

COMMIT = "c" * 40


@dataclass
class ModelHub:
    """What the hub has, how it misbehaves, and what it was asked."""

    repositories: dict[str, dict[str, bytes]]
    """Files by repository and name."""
    url: str = ""
    status: int = 200
    """The status of every answer; 200 for the usual ones."""
    headers: dict[str, str] = field(default_factory=dict)
    """Further headers of refusals, such as `X-Error-Code`."""
    breaks_after: list[int] = field(default_factory=list)
    """For each coming download, after how many bytes the connection breaks."""
    wrong: bool = False
    """Whether the content differs from the announced checksum."""
    redirects: bool = False
    """Whether files lie at another address."""
    forwards: str = ""
    """The address of another server to which every request is redirected."""
    tokens: list[str] = field(default_factory=list)
    """The `Authorization` header of each request."""
    before_content: Callable[[], object] = lambda: None
    """Called before the content of a file is sent."""
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    """Method, path and range of each request."""


class _Handler(BaseHTTPRequestHandler):
    """Answers for the hub of its server."""

    hub: ModelHub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, *, with_body: bool) -> None:
        path = unquote(self.path.partition("?")[0])
        self.hub.asked.append((self.command, path, self.headers.get("Range", "")))
        self.hub.tokens.append(self.headers.get("Authorization", ""))
        if self.hub.forwards:
            self._send(302, b"", {"Location": f"{self.hub.forwards}{path}"}, with_body)
        elif self.hub.status != 200:
            self._send(self.hub.status, json.dumps({"error": "no"}).encode(), self.hub.headers, with_body)
        elif match := re.fullmatch(r"/api/models/([^/]+/[^/]+)(?:/revision/[^/]+)?", path):
            self._info(match[1], with_body)
        elif match := re.fullmatch(r"/([^/]+/[^/]+)/resolve/[^/]+/(.+)", path):
            self._file(match[1], match[2], with_body)
        elif match := re.fullmatch(r"/elsewhere/([^/]+/[^/]+)/(.+)", path):
            self._content(match[1], match[2], with_body)
        else:
            self._send(404, b"{}", {}, with_body)

    def _info(self, repository: str, with_body: bool) -> None:
        files = self.hub.repositories.get(repository)
        if files is None:
            headers = {"X-Error-Code": "RepoNotFound"}
            self._send(404, b'{"error": "Repository not found"}', headers, with_body)
            return
        siblings = [
            {
                "rfilename": name,
                "size": len(content),
                "lfs": {"sha256": digest(content), "size": len(content), "pointerSize": 1},
            }
            for name, content in files.items()
        ]
        info = {"id": repository, "modelId": repository, "sha": COMMIT, "siblings": siblings}
        self._send(200, json.dumps(info).encode(), {}, with_body)

    def _file(self, repository: str, name: str, with_body: bool) -> None:
        content = self.hub.repositories.get(repository, {}).get(name)
        if content is None:
            self._send(404, b"{}", {"X-Error-Code": "EntryNotFound"}, with_body)
        elif self.hub.redirects:
            headers = {
                "Location": f"{self.hub.url}/elsewhere/{repository}/{name}",
                "X-Repo-Commit": COMMIT,
                "X-Linked-Etag": f'"{digest(content)}"',
                "X-Linked-Size": str(len(content)),
            }
            self._send(302, b"", headers, with_body)
        else:
            self._content(repository, name, with_body)

    def _content(self, repository: str, name: str, with_body: bool) -> None:
        content = self.hub.repositories[repository][name]
        headers = {
            "X-Repo-Commit": COMMIT,
            "ETag": f'"{digest(content)}"',
            "Accept-Ranges": "bytes",
        }
        sent = content[:-1] + b"!" if self.hub.wrong else content
        status = 200
        if match := re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", "")):
            start = int(match[1])
            headers["Content-Range"] = f"bytes {start}-{len(sent) - 1}/{len(sent)}"
            sent, status = sent[start:], 206
        if with_body:
            self.hub.before_content()
        broken = self.hub.breaks_after.pop(0) if with_body and self.hub.breaks_after else None
        self._send(status, sent, headers, with_body, broken)

    def _send(
        self,
        status: int,
        body: bytes,
        headers: dict[str, str],
        with_body: bool,
        broken: int | None = None,
    ) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(body if broken is None else body[:broken])
        if broken is not None:
            self.wfile.flush()
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def running_model_hub(repositories: dict[str, dict[str, bytes]]) -> Iterator[ModelHub]:
    """Run a hub with these files on loopback."""
    hub = ModelHub(repositories)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@lru_cache(maxsize=64)
def digest(content: bytes) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(content).hexdigest()

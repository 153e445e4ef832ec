"""A server that speaks as much of the Hugging Face Hub's protocol as an upload needs."""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

ONLINE = {"HF_HUB_OFFLINE": "0"}
"""For the environment of a command that uses the hub."""


class Hub(BaseHTTPRequestHandler):
    """Creates repositories, and takes commits of small files, with the token `hf_right`."""

    created: ClassVar[list[dict[str, Any]]]
    committed: ClassVar[dict[str, bytes]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Authorization") != "Bearer hf_right":
            self._answer(401, {"error": "Invalid username or password."})
        elif self.path == "/api/repos/create":
            self.created.append(json.loads(body))
            self._answer(200, {"url": f"http://{self.headers['Host']}/datasets/ada/lamp-talk"})
        elif "/preupload/" in self.path:
            asked = json.loads(body)["files"]
            found = [{"path": one["path"], "uploadMode": "regular", "shouldIgnore": False} for one in asked]
            self._answer(200, {"files": found})
        elif self.path == "/api/validate-yaml":
            self._answer(200, {"errors": [], "warnings": []})
        else:
            for line in body.splitlines():
                part = json.loads(line)
                if part["key"] == "file":
                    content = base64.b64decode(part["value"]["content"])
                    self.committed[part["value"]["path"]] = content
            where = f"http://{self.headers['Host']}/datasets/ada/lamp-talk/commit/{'a' * 40}"
            self._answer(200, {"commitOid": "a" * 40, "commitUrl": where, "success": True})

    def do_GET(self) -> None:
        self._answer(404, {})

    def log_message(self, *_args: object) -> None:
        """Say nothing."""

    def _answer(self, status: int, value: Any) -> None:
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


@contextmanager
def running_hub() -> Iterator[str]:
    """The address of a running hub that has nothing yet."""
    Hub.created, Hub.committed = [], {}
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

"""A data set goes to the hub in one commit with its card; a server here speaks the hub's protocol."""

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from helpers.commands import rolellm

pytest.importorskip("huggingface_hub")


ONLINE = {"HF_HUB_OFFLINE": "0"}


class _Hub(BaseHTTPRequestHandler):
    """Creates repositories, and takes commits of small files."""

    created: ClassVar[list[dict[str, Any]]]
    committed: ClassVar[dict[str, str]]

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
                    text = base64.b64decode(part["value"]["content"]).decode()
                    self.committed[part["value"]["path"]] = text
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


@pytest.fixture
def hub() -> Iterator[str]:
    _Hub.created, _Hub.committed = [], {}
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Hub)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = tmp_path / "lamps.jsonl"
    row = {"role": "Ada", "question": "Who keeps the lamp?", "generated": ["I do."], "language": "en"}
    file.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return file


def test_a_data_set_and_its_card_are_one_commit(hub: str, data: Path) -> None:
    done = rolellm(
        *("data", "push", str(data), "ada/lamp-talk", "--private", "--licence", "cc0-1.0", "--json"),
        env={"HF_ENDPOINT": hub, "HF_TOKEN": "hf_right", **ONLINE},
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["files"] == ["README.md", "lamps.jsonl"]
    assert _Hub.created[0]["name"] == "lamp-talk"
    assert _Hub.created[0]["type"] == "dataset"
    assert _Hub.committed["lamps.jsonl"] == data.read_text(encoding="utf-8")
    assert "license: cc0-1.0" in _Hub.committed["README.md"]


@pytest.mark.parametrize(
    ("repository", "token", "what"),
    [
        ("ada/lamp-talk", "hf_wrong", "The hub did not take ada/lamp-talk: "),
        ("ada/lamp/talk", "hf_right", "is not the name of a repository; use OWNER/NAME"),
        ("ada/lamp-talk", "", "Nobody is logged in at the hub"),
    ],
)
def test_what_the_hub_refuses_is_one_sentence(
    hub: str, data: Path, tmp_path: Path, repository: str, token: str, what: str
) -> None:
    done = rolellm(
        *("data", "push", str(data), repository),
        env={"HF_ENDPOINT": hub, "HF_TOKEN": token, "HF_HOME": str(tmp_path / "nobody"), **ONLINE},
    )
    assert done.returncode == 2
    assert what in done.stderr
    assert _Hub.committed == {}


def test_a_hub_that_is_not_there_is_one_sentence(data: Path) -> None:
    done = rolellm(
        *("data", "push", str(data), "ada/lamp-talk"),
        env={"HF_ENDPOINT": "http://127.0.0.1:9", "HF_TOKEN": "hf_right", **ONLINE},
    )
    assert done.returncode == 2
    assert "The hub did not take ada/lamp-talk" in done.stderr


def test_a_dry_run_sends_nothing(hub: str, data: Path) -> None:
    done = rolellm("data", "push", str(data), "ada/lamp-talk", "--dry-run", env={"HF_ENDPOINT": hub})
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("README.md\nlamps.jsonl\n")
    assert _Hub.created == []

"""Nothing reaches beyond this machine unless a command or a choice names it."""

import os
from pathlib import Path

import pytest
from helpers.commands import rolellm
from helpers.user_files import write_persona

_WATCH = """
import os, socket
_connect, _connect_ex = socket.socket.connect, socket.socket.connect_ex
_resolve = socket.getaddrinfo

def _note(what):
    with open(os.environ["CONNECTIONS"], "a") as file:
        file.write(f"{what}\\n")

def _watched(call):
    def connect(self, address):
        if isinstance(address, tuple):
            _note(address[0])
        return call(self, address)
    return connect

def _getaddrinfo(host, *args, **kwargs):
    _note(host)
    return _resolve(host, *args, **kwargs)

socket.socket.connect, socket.socket.connect_ex = _watched(_connect), _watched(_connect_ex)
socket.getaddrinfo = _getaddrinfo
"""
LOOPBACK = {"127.0.0.1", "::1", "localhost"}


@pytest.mark.parametrize(
    "command",
    [
        ("--help",),
        ("say", "ada", "Hello.", "--max-tokens", "4"),
        ("chat", "ada", "--plain"),
        ("doctor",),
        ("models", "list"),
        ("models", "show", "qwen3-4b"),
        ("persona", "list"),
    ],
)
def test_no_address_beyond_loopback_is_asked(command: tuple[str, ...], tmp_path: Path) -> None:
    write_persona()
    (tmp_path / "watch").mkdir()
    (tmp_path / "watch" / "sitecustomize.py").write_text(_WATCH)
    asked = tmp_path / "connections"
    asked.touch()
    path = os.pathsep.join([str(tmp_path / "watch"), os.environ.get("PYTHONPATH", "")])
    env = {"PYTHONPATH": path, "CONNECTIONS": str(asked), "HF_HUB_OFFLINE": "0"}
    done = rolellm(*command, stdin="Hello.\n", env=env)
    assert done.returncode in (0, 1), done.stderr
    assert set(asked.read_text().split()) <= LOOPBACK


def test_the_watch_sees_a_connection(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(_WATCH)
    asked = tmp_path / "connections"
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    env = {
        "PYTHONPATH": path,
        "CONNECTIONS": str(asked),
        "HF_HUB_OFFLINE": "0",
        "HF_ENDPOINT": "http://hub.invalid",
    }
    assert rolellm("models", "pull", "hf:ada/lamp", env=env).returncode == 2
    assert "hub.invalid" in asked.read_text()

"""A Chroma server on loopback, in a process of its own."""

import os
import socket
import subprocess
import sys
import time
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest

_PATIENCE = 90.0


class ChromaServer:
    """Runs between `start` and `stop`, as often as you like, with the same port and the same data."""

    def __init__(self, folder: Path) -> None:
        self._command = Path(sys.executable).parent / "chroma"
        if not self._command.is_file():
            pytest.skip("the command chroma is not installed")
        self._folder = folder
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Returns when it answers."""
        place = ("--path", str(self._folder), "--host", "127.0.0.1", "--port", str(self._port))
        self._process = subprocess.Popen(
            (str(self._command), "run", *place),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(self._folder)},
        )
        deadline = time.monotonic() + _PATIENCE
        while not self._answers():
            assert self._process.poll() is None, "the server has ended"
            assert time.monotonic() < deadline, "the server never answered"
            time.sleep(0.05)

    def stop(self) -> None:
        """Returns when its port is free."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=5)
        try:
            connection.request("GET", "/api/v2/heartbeat")
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()


def free_port() -> int:
    """One that nobody listened on a moment ago."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port

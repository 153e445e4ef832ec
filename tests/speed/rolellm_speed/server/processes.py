"""Starts servers in separate processes."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rolellm_agents.errors import ModelError

_GRACE = 20.0


@contextmanager
def served(module: str, *arguments: str) -> Iterator[tuple[str, int]]:
    """Run a module of this package; yields its base URL, including `/v1`, and its process id.

    Raises:
        ModelError: the server did not start.
    """
    command = [sys.executable, "-m", f"{__package__}.{module}", *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        url = process.stdout.readline().strip() if process.stdout else ""
        try:
            if not url:
                raise ModelError(f"The server {module} did not start; its own words stand above.")
            yield url, process.pid
        finally:
            if process.stdin:
                process.stdin.close()
            process.terminate()
            try:
                process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                process.kill()

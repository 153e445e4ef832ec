"""Programs of others that use the server, as `make test-clients` installs them, and as they are started."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx
import pytest

from rolellm_agents.files.ports import listen

INSTALLED = Path(__file__).parents[2] / "build" / "clients"
_PATIENCE = 240.0
"""Seconds for the start of a program; the first one makes its database or compiles its pages."""
_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR")


def installed(path: str) -> Path:
    """A file of an installed client; the test is skipped without it."""
    found = INSTALLED / path
    if not found.exists():
        pytest.skip(f"{path.split('/')[0]} is not installed; `make test-clients` installs it")
    return found


def free_port() -> int:
    """A port that nobody listens on."""
    with listen("127.0.0.1", 0) as listening:
        port: int = listening.getsockname()[1]
        return port


@asynccontextmanager
async def running(
    *command: str | Path, url: str, folder: Path, home: Path, environment: Mapping[str, str] | None = None
) -> AsyncIterator[None]:
    """A program with a page, from the moment when its page is there.

    Args:
        command: starts it.
        url: its page.
        folder: where it is started.
        home: the home folder that it gets, where its log is also written.
        environment: its further variables; it gets no others of this process.
    """
    kept = {name: value for name, value in os.environ.items() if name in _KEPT}
    await asyncio.to_thread(home.mkdir, parents=True, exist_ok=True)
    with (home / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *map(str, command),
            cwd=folder,
            env={**kept, "HOME": str(home), **(environment or {})},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            await _answers(url, process, home / "log")
            yield
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


async def _answers(url: str, process: asyncio.subprocess.Process, log: Path) -> None:
    ends = time.monotonic() + _PATIENCE
    async with httpx.AsyncClient(trust_env=False, timeout=20) as client:
        while time.monotonic() < ends and process.returncode is None:
            with suppress(httpx.TransportError):
                if (await client.get(url)).is_success:
                    return
            await asyncio.sleep(0.2)
    said = await asyncio.to_thread(log.read_text, errors="replace")
    raise AssertionError(f"{url} did not answer:\n{said[-4000:]}")

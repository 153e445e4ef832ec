"""`rolellm chat --web` as a process, and its server in this process."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress

from aiohttp import web

from helpers.commands import COMMAND
from rolellm_agents.files.ports import listen
from rolellm_tui.web.door import Door
from rolellm_tui.web.server import AppServer

PATIENCE = 60.0


@asynccontextmanager
async def rolellm_web(*arguments: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """`rolellm chat … --web` in a process of its own, and the link that it prints."""
    program = (*COMMAND, "chat", *arguments, "--web", "--port", "0")
    process = await asyncio.create_subprocess_exec(*program, stdout=-1, stderr=-1)
    assert process.stdout is not None
    try:
        yield process, (await process.stdout.readline()).decode().strip()
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


@asynccontextmanager
async def served(program: Sequence[str]) -> AsyncIterator[tuple[web.AppRunner, Door]]:
    """A server in this process, which runs a program in each tab."""
    with listen("127.0.0.1", 0) as listening:
        door = Door("127.0.0.1", listening.getsockname()[1])
        runner = web.AppRunner(AppServer(program, door).application())
        await runner.setup()
        await web.SockSite(runner, listening).start()
        try:
            yield runner, door
        finally:
            await runner.cleanup()


async def until(holds: Callable[[], object]) -> None:
    """Wait until something outside this process holds, which it does soon."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)

"""`rolellm chat --web` as a process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from helpers.commands import COMMAND


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

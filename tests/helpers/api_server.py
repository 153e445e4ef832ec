"""The server as tests ask it: in this process, and as a process of its own."""

import asyncio
import os
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI
from langchain_core.language_models import BaseChatModel
from sse_starlette.sse import AppStatus

from helpers.commands import COMMAND
from rolellm_graphs.server.app import Interface, create_app
from rolellm_graphs.server.options import ServerOptions
from rolellm_graphs.server.serving import server_config

PATIENCE = 90.0


def options_of(model: BaseChatModel, **options: Any) -> ServerOptions:
    """A server of one model, which answers for every spec."""

    def make(_: str, **__: Any) -> BaseChatModel:
        return model

    return ServerOptions(models=("scripted:",), make=make, **options)


@asynccontextmanager
async def asked_in_process(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A client whose requests reach the application without a network."""
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test", timeout=PATIENCE) as client:
        yield client


@asynccontextmanager
async def served(
    model: BaseChatModel, interfaces: Sequence[Interface] | None = None, **options: Any
) -> AsyncIterator[httpx.AsyncClient]:
    """A server on loopback in this process, over real sockets, and a client of it."""
    # This version of sse-starlette keeps an event of the first event loop that it has seen.
    AppStatus.should_exit_event = None
    chosen = options_of(model, **options)
    app = create_app(chosen, interfaces)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(server_config(app, chosen))
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        while not server.started:
            assert not serving.done()
            await asyncio.sleep(0.01)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        try:
            async with httpx.AsyncClient(base_url=url, timeout=PATIENCE) as client:
                yield client
        finally:
            server.should_exit = True
            await serving


@contextmanager
def rolellm_serve(
    *arguments: str, environment: Mapping[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`rolellm serve` as a process of its own, and its base URL."""
    command = [*COMMAND, "serve", "--port", "0", *arguments]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()

"""The server on standard input and output, as desktop programs start it."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper

import anyio
from mcp.server.stdio import stdio_server

from rolellm_graphs.mcp.handlers import mcp_server
from rolellm_graphs.mcp.mistakes import local_sentence
from rolellm_graphs.server.options import ServerOptions
from rolellm_graphs.server.service import Service


async def serve_stdio(options: ServerOptions) -> None:
    """Serve one client until it closes standard input.

    Args:
        options: the server's options. Those for networks have no effect.

    Raises:
        ModelError: the first model cannot be used.
        SettingsError: an option cannot be used.
    """
    service = Service(options)
    # A thread of the SDK reads standard input, and only its end can wake the thread. There is nothing to
    # save, so Ctrl-C ends the process as SIGTERM does.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    with _protocol_alone() as (source, sink):
        server = mcp_server(service, local_sentence)
        async with stdio_server(anyio.wrap_file(source), anyio.wrap_file(sink)) as (read, write):
            await server.run(read, write, server.create_initialization_options())


@contextmanager
def _protocol_alone() -> Iterator[tuple[TextIOWrapper, TextIOWrapper]]:
    """Standard input and output for the protocol alone.

    What models, libraries and child processes print goes to standard error, also from C: otherwise a single
    line would break the protocol. For the same reason nobody else can read from standard input.
    """
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    printed, sys.stdout = sys.stdout, sys.stderr
    try:
        with (
            TextIOWrapper(os.fdopen(source, "rb"), encoding="utf-8", errors="replace") as read,
            TextIOWrapper(os.fdopen(sink, "wb"), encoding="utf-8", newline="\n") as write,
        ):
            yield read, write
    finally:
        sys.stdout = printed

"""Starts servers in separate processes."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

from rolellm_agents.errors import ModelError
from rolellm_speed.server.workload import STRATEGY

_GRACE = 20.0
_ROLELLM = (sys.executable, "-c", "from rolellm_tui.cli.main import main; main()")


class RunningServer(NamedTuple):
    """A server in a process of its own."""

    url: str
    """The base URL, including `/v1`."""
    process: int
    """The process id."""


def our_server(
    model: str, *, concurrent: int, home: Path | None = None
) -> AbstractContextManager[RunningServer]:
    """`rolellm serve`, on a free port of this machine.

    Args:
        model: the spec of its model.
        concurrent: how many requests it answers at a time.
        home: the folder of its settings; the user's own when None.
    """
    options = ("--model", model, "--strategy", STRATEGY, "--concurrent", str(concurrent))
    environment = {} if home is None else {"ROLELLM_HOME": str(home)}
    return _running("rolellm serve", (*_ROLELLM, "serve", "--port", "0", *options), environment)


def llama_server(
    weights: Path, *, adapter: Path | None = None, slots: int, clients: int, context: int, threads: int
) -> AbstractContextManager[RunningServer]:
    """llama.cpp's server, on a free port of this machine.

    Args:
        weights: a GGUF file.
        adapter: a LoRA adapter over these weights.
        slots: how many requests it answers at a time.
        clients: how many clients it has at a time.
        context: the context of a slot in tokens.
        threads: how many threads compute.
    """
    settings = (weights, slots, clients, context, threads, *([adapter] if adapter else []))
    module = f"{__package__}.llama"
    return _running("llama.cpp's server", (sys.executable, "-m", module, *map(str, settings)), {})


@contextmanager
def _running(name: str, command: Sequence[str], environment: Mapping[str, str]) -> Iterator[RunningServer]:
    """A server whose first printed line is its base URL.

    Raises:
        ModelError: the server did not start.
    """
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    ) as process:
        url = process.stdout.readline().strip() if process.stdout else ""
        try:
            if not url:
                raise ModelError(f"{name} did not start; its own words stand above.")
            yield RunningServer(url, process.pid)
        finally:
            if process.stdin:
                process.stdin.close()
            process.terminate()
            try:
                process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                process.kill()

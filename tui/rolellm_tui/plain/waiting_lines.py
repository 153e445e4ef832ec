"""Lines on stderr that say what an answer waits for."""

import asyncio
import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from langchain_core.language_models import BaseChatModel

from rolellm_agents.models.local import runs_here
from rolellm_graphs.events import Event, MessageDone, Prefilling, Prompted, TokenDelta, TurnFailed, Waiting
from rolellm_tui.output import complain

_EVERY = 10.0
"""Seconds between two lines: each stays on the screen, and a screen reader reads it."""


class WaitingLines:
    """Prints what an answer waits for, if stderr is a terminal, and refusals of a server in any case."""

    def __init__(self, model: BaseChatModel) -> None:
        """Create the printer for the answer of a model, in a running event loop."""
        self._asks_server = not runs_here(model)
        self._is_watched = sys.stderr.isatty()
        self._printed = -math.inf
        self._next_line: asyncio.TimerHandle | None = None

    def take(self, event: Event) -> None:
        """Print what an event says of the wait, or stop printing."""
        match event:
            case Prompted() if self._asks_server and self._is_watched:
                self._count_seconds(time.monotonic())
            case Waiting():
                complain(str(event))
            case Prefilling() if self._is_watched and time.monotonic() - self._printed >= _EVERY:
                self._printed = time.monotonic()
                complain(str(event))
            case TokenDelta() | MessageDone() | TurnFailed():
                self.stop()

    def stop(self) -> None:
        """Print nothing more."""
        if self._next_line is not None:
            self._next_line.cancel()

    def _count_seconds(self, began: float) -> None:
        seconds = time.monotonic() - began
        if seconds >= 1:
            complain(f"waiting for the server {seconds:.0f} s")
        self._next_line = asyncio.get_running_loop().call_later(_EVERY, self._count_seconds, began)


@contextmanager
def waiting_lines(model: BaseChatModel) -> Iterator[WaitingLines]:
    """The printer for the answer of a model, which stops when the context ends."""
    lines = WaitingLines(model)
    try:
        yield lines
    finally:
        lines.stop()

"""What is told when work in the background fails.

A defect of ours must not end the app and take the person's half-written line with it: workers run with
`exit_on_error=False`, and whoever started one tells what became of it.
"""

from dataclasses import dataclass

from textual.message import Message
from textual.worker import Worker, WorkerState

from rolellm_agents.errors import RoleLLMError


@dataclass
class Failed(Message):
    """Work of a widget's has failed; its screen tells so."""

    sentence: str


def what_failed(event: Worker.StateChanged) -> str:
    """What kept a worker from its end, in one sentence; empty when nothing did."""
    error = event.worker.error
    if event.state != WorkerState.ERROR or error is None:
        return ""
    if isinstance(error, RoleLLMError):
        return str(error)
    return f"Internal error: {type(error).__name__}: {error}."

"""Errors of background workers.

An internal error must not end the app and lose the user's draft: workers run with `exit_on_error=False`,
and their owner reports the error.
"""

from dataclasses import dataclass

from textual.message import Message
from textual.worker import Worker, WorkerState

from rolellm_agents.errors import RoleLLMError


@dataclass
class Failed(Message):
    """A worker of a widget failed. The screen reports it."""

    sentence: str


def failure_text(event: Worker.StateChanged) -> str:
    """Describe the error of a worker in one sentence; empty when the worker did not fail."""
    error = event.worker.error
    if event.state != WorkerState.ERROR or error is None:
        return ""
    if isinstance(error, RoleLLMError):
        return str(error)
    return f"Internal error: {type(error).__name__}: {error}."

"""A contender's process, seen from outside."""

import json
import signal
import subprocess
import sys
import tempfile
from typing import IO

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.benchmark.contender import Job
from rolellm_agents.models.llamacpp.benchmark.play import Outcome

_COMMAND = (sys.executable, "-m", __name__.rpartition(".")[0])
_LAST_WORDS = 2000
"""Bytes."""
_LAST_LINES = 4


def run_job(name: str, job: Job) -> Outcome:
    """Start a process for the job and wait for its outcome.

    Args:
        name: the contender's, for the error.
        job: what is to be done.

    Raises:
        ModelError: the process failed; the end of what it said tells why.
    """
    # A pipe that nobody reads would fill up, and llama.cpp says much.
    with tempfile.TemporaryFile() as said:
        done = subprocess.run(
            _COMMAND,
            input=job.to_json(),
            stdout=subprocess.PIPE,
            stderr=said,
            encoding="utf-8",
            check=False,
        )
        if done.returncode:
            raise ModelError(
                f"The engine {name!r} ended with {_reason(done.returncode)} while it was measured; "
                f"its last words: {_end_of(said)}"
            )
    return Outcome(**json.loads(done.stdout))


def _reason(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"exit code {code}"


def _end_of(said: IO[bytes]) -> str:
    size = said.seek(0, 2)
    said.seek(max(0, size - _LAST_WORDS))
    lines = said.read().decode("utf-8", "replace").splitlines()
    return " | ".join(line.strip() for line in lines[-_LAST_LINES:] if line.strip()) or "none"

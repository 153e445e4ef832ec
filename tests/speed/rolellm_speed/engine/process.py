"""Starts an engine's process and waits for its outcome."""

import json
import signal

from rolellm_agents.errors import ModelError
from rolellm_speed.engine.child import Child
from rolellm_speed.engine.load_meter import LoadMeter
from rolellm_speed.engine.play import EngineOutcome
from rolellm_speed.engine.system import READY, EngineTask

_MODULE = __name__.rpartition(".")[0]


class TimedOutError(ModelError):
    """A system under test did not finish in time; its process was killed."""


def run_job(
    name: str, job: EngineTask, *, limit: float | None = None, meter: LoadMeter | None = None
) -> EngineOutcome:
    """Start a process for the job and wait for its outcome.

    Args:
        name: the engine's name in error messages.
        job: the job.
        limit: seconds until the process is ready, and again until it has finished; afterwards it is killed
            with its descendants. None for no limit.
        meter: measures the machine's load.

    Raises:
        TimedOutError: the process was not ready, or did not finish, in time.
        ModelError: the process failed; the message contains the end of its output.
    """
    if meter:
        meter.look_before()
    with Child(_MODULE, job.to_json()) as child:
        answer = _ask(name, child, limit, meter)
        code = child.end()
        if code or not answer:
            raise ModelError(
                f"The engine {name!r} ended with {_reason(code)} while it was measured; "
                f"its last words: {child.last_words()}"
            )
    return EngineOutcome(**json.loads(answer))


def _ask(name: str, child: Child, limit: float | None, meter: LoadMeter | None) -> str:
    """The outcome as JSON; empty if the process ended without one."""
    doing = "was not ready"
    if meter:
        meter.start()
    try:
        answer = child.answer(limit)
        if answer.strip() == READY:
            doing = "did not finish"
            if meter:
                meter.start()  # restart, because load during the loading does not matter
            answer = child.answer(limit)
    except TimeoutError:
        raise TimedOutError(f"The engine {name!r} {doing} in {limit:g} s.") from None
    finally:
        if meter:
            meter.stop()
    return answer


def _reason(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"exit code {code}"

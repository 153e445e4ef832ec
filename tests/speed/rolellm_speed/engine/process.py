"""An engine's process, seen from outside."""

import json
import signal

from rolellm_agents.errors import ModelError
from rolellm_speed.engine.child import Child
from rolellm_speed.engine.load_meter import LoadMeter
from rolellm_speed.engine.play import EngineOutcome
from rolellm_speed.engine.system import READY, EngineTask

_MODULE = __name__.rpartition(".")[0]


class TimedOutError(ModelError):
    """A system under test that did not finish in time; its process is gone."""


def run_job(
    name: str, job: EngineTask, *, limit: float | None = None, meter: LoadMeter | None = None
) -> EngineOutcome:
    """Start a process for the job and wait for its outcome.

    Args:
        name: the engine's, for the error.
        job: what is to be done.
        limit: seconds until it is ready, and again as many until it has finished; then it is killed
            with all that it started. None waits as long as it takes.
        meter: is told when to look at the machine.

    Raises:
        TimedOutError: it was not ready, or did not finish, in time.
        ModelError: the process failed; the end of what it said tells why.
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
    """Its outcome as JSON; empty when it ended before."""
    doing = "was not ready"
    if meter:
        meter.start()
    try:
        answer = child.answer(limit)
        if answer.strip() == READY:
            doing = "did not finish"
            if meter:
                meter.start()  # anew: what disturbed the loading only does not matter
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

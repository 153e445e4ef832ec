"""An engine's process: a job as JSON on standard input, its figures as JSON on standard output."""

import json
import os
import sys

from rolellm_speed.engine.parent_watch import ParentWatch
from rolellm_speed.engine.play import perform
from rolellm_speed.engine.system import READY, EngineTask


def _main() -> None:
    # Redirect output of C libraries to standard error, so that standard output contains only the answer.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answer:
        os.dup2(2, 1)
        job = EngineTask.from_json(sys.stdin.readline())
        watch = ParentWatch()

        def ready() -> None:
            answer.write(f"{READY}\n")
            answer.flush()

        try:
            outcome = json.dumps(perform(job, ready)._asdict())
        finally:
            # After an error, too, the pipe is closed before the error is written to standard error.
            watch.let_end()
        answer.write(outcome)
    watch.wait()


if __name__ == "__main__":
    _main()

"""A contender's process: a job as JSON on standard input, its figures as JSON on standard output."""

import json
import os
import sys

from rolellm_agents.models.llamacpp.benchmark.contender import Job
from rolellm_agents.models.llamacpp.benchmark.play import perform


def _main() -> None:
    # What libraries print in C goes to standard error, so that the answer stands alone.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answer:
        os.dup2(2, 1)
        json.dump(perform(Job.from_json(sys.stdin.read()))._asdict(), answer)


if __name__ == "__main__":
    _main()

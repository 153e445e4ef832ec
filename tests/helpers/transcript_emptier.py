"""Processes that empty the bin of a transcript: `FILE`; run as a file.

For each number on stdin, a process of its own empties the bin, and kills itself after so many instructions
of SQLite's machine, so in the middle of a change; 0 lets it end. One JSON line on stdout tells its exit
code. The processes are forked, so that each starts with the imports behind it.
"""

import json
import os
import signal
import sys
import traceback
from itertools import count
from pathlib import Path

from rolellm_agents.transcript.database import Database
from rolellm_agents.transcript.emptying import empty_marked, mark_all


def empty(file: Path, steps: int) -> None:
    """Empty the bin, or die."""
    database = Database(file)
    if steps:
        done = count(1)
        database.connection.set_progress_handler(
            lambda: os.kill(os.getpid(), signal.SIGKILL) if next(done) >= steps else None, 1
        )
    with database.writing() as db:
        mark_all(db)
    empty_marked(database)
    database.close()


def main() -> None:
    """One process after another, as stdin asks for them."""
    for steps in sys.stdin:
        process = os.fork()
        if process == 0:
            code = 1
            try:
                empty(Path(sys.argv[1]), int(steps))
                code = 0
            finally:
                traceback.print_exc()
                os._exit(code)
        _, status = os.waitpid(process, 0)
        os.write(1, (json.dumps({"code": os.waitstatus_to_exitcode(status)}) + "\n").encode())


if __name__ == "__main__":
    main()

"""The work of a background process; runs as a module, and imports only what its kind needs.

It reads its task as a line of JSON, prints `ready` when it computes at full speed, and ends when it is
killed or its parent process has ended.
"""

import json
import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from rolellm_speed.engine.parent_watch import ParentWatch
from rolellm_speed.engine.system import READY, EngineTask, EngineUnderTest

if TYPE_CHECKING:
    import torch

Ready = Callable[[], None]

LOWEST = 19
"""The highest nice value, which is the lowest priority."""
_WIDTH, _ROWS = 512, 64
"""Width of the trained layers, and rows of a batch."""
_ANSWER = 64
"""Number of tokens of each answer of an engine."""


def spin(ready: Ready) -> None:
    """Compute in one thread."""
    number = 1
    ready()
    while True:
        number = (number * 1_103_515_245 + 12_345) % 2**31


def spin_niced(ready: Ready) -> None:
    """Compute in one thread, at the lowest priority."""
    if sys.platform == "win32":
        import psutil

        psutil.Process().nice(psutil.IDLE_PRIORITY_CLASS)
    else:
        os.nice(LOWEST)
    spin(ready)


def train(threads: int, ready: Ready) -> None:
    """Train a small network with torch on the CPU."""
    import torch

    torch.set_num_threads(threads)
    network = torch.nn.Sequential(
        torch.nn.Linear(_WIDTH, 4 * _WIDTH), torch.nn.GELU(), torch.nn.Linear(4 * _WIDTH, _WIDTH)
    )
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
    rows = torch.randn(_ROWS, _WIDTH)
    _step(network, optimizer, rows)
    ready()
    while True:
        _step(network, optimizer, rows)


def _step(network: "torch.nn.Module", optimizer: "torch.optim.Optimizer", rows: "torch.Tensor") -> None:
    optimizer.zero_grad()
    (network(rows) - rows).square().mean().backward()
    optimizer.step()


def generate(job: EngineTask, ready: Ready) -> None:
    """Generate one answer after another with the job's engine."""
    engine: EngineUnderTest = import_module(job.module).open_engine(job)
    engine.turn(0, job.warm_up, 1)
    ready()
    while True:
        engine.turn(0, job.warm_up, _ANSWER)


def _main() -> None:
    # Redirect output of C libraries to standard error, so that standard output contains only “ready”.
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    task = json.loads(sys.stdin.readline())
    ParentWatch()

    def ready() -> None:
        answer.write(f"{READY}\n")
        answer.flush()

    match task["kind"]:
        case "spin":
            spin(ready)
        case "niced":
            spin_niced(ready)
        case "training":
            train(task["threads"], ready)
        case "engine":
            generate(EngineTask.from_json(task["job"]), ready)


if __name__ == "__main__":
    _main()

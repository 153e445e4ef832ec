"""What a background process does until it is killed; run as a module, imports only what its kind needs.

It reads its task as a line of JSON, says `ready` when it computes at full speed, and ends when the
process that started it is gone.
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
"""Of the layers that are trained, and of a batch."""
_ANSWER = 64
"""Tokens of each answer of an engine."""


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
    """Train a small network with torch, on the processors."""
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
    """Write one answer after another with the engine that the job names."""
    engine: EngineUnderTest = import_module(job.module).open_engine(job)
    engine.turn(0, job.warm_up, 1)
    ready()
    while True:
        engine.turn(0, job.warm_up, _ANSWER)


def _main() -> None:
    # What libraries print in C goes to standard error, so that “ready” stands alone.
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

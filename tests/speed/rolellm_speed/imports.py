"""Measures what an import costs a program, in seconds and memory (`rolellm bench imports`)."""

import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import psutil

from rolellm_agents.errors import ModelError

MODULES = ("sys", "langgraph.graph", "rolellm_agents", "rolellm_graphs")
"""`sys` stands for Python itself, and LangGraph for what programs with graphs import anyway."""
_CODE = "import {}; print(flush=True); input()"


@dataclass(frozen=True)
class ImportCost:
    """An import in a new process, with Python's own start; medians."""

    module: str
    seconds: float
    mib: float
    """Resident memory after it, in MiB."""


def measure_imports(rounds: int, modules: Sequence[str] = MODULES) -> list[ImportCost]:
    """Import each module by turns, so that a slow moment affects all equally.

    Args:
        rounds: number of processes for each module; one more, at first, fills the disk's cache.
        modules: names of modules.

    Raises:
        ModelError: a module cannot be imported.
    """
    for module in modules:
        _import(module)
    costs: dict[str, list[ImportCost]] = {module: [] for module in modules}
    for _ in range(rounds):
        for module in modules:
            costs[module].append(_import(module))
    return [
        ImportCost(module, median(one.seconds for one in found), median(one.mib for one in found))
        for module, found in costs.items()
    ]


def _import(module: str) -> ImportCost:
    command = (sys.executable, "-c", _CODE.format(module))
    began = time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline() if process.stdout else ""
        seconds = time.perf_counter() - began
        if not line:
            raise ModelError(f"{module} cannot be imported; the reason stands above.")
        used = psutil.Process(process.pid).memory_info().rss
        process.communicate("\n")
    return ImportCost(module, seconds, used / 2**20)

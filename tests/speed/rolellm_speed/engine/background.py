"""Background load: starts processes that compute during a measurement, and always ends them."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import NamedTuple

from rolellm_agents.errors import ModelError
from rolellm_speed.engine.background_work import LOWEST
from rolellm_speed.engine.child import Child
from rolellm_speed.engine.fair_share import relative_weight
from rolellm_speed.engine.system import EngineTask

_WORK = f"{__name__}_work"


class Kind(NamedTuple):
    """A kind of background process."""

    parallel: bool = False
    """Whether it has a thread for each processor instead of one thread."""
    niced: bool = False
    """Whether it runs at the lowest priority."""
    needs: str = ""
    """An optional package that it needs."""


KINDS = {
    "spin": Kind(),
    "niced": Kind(niced=True),
    "training": Kind(parallel=True, needs="torch"),
    "engine": Kind(parallel=True),
}
"""Kinds by their names for `--neighbour`."""


def require(kind: str) -> None:
    """Check before the measurements that processes of this kind can be started.

    Raises:
        ModelError: there is no such kind, or a package is missing.
    """
    if kind not in KINDS:
        raise ModelError(f"There is no background process {kind!r}; take {', '.join(KINDS)}.")
    needed = KINDS[kind].needs
    if needed and not find_spec(needed):
        raise ModelError(
            f"The background process {kind!r} needs {needed}, which is not installed; "
            "“pip install 'rolellm-agents[hf]'” installs it."
        )


def total_weight(kind: str, count: int, processors: int, own_nice: int = 0) -> float:
    """The weight of all threads of the background processes, for `fair_share`.

    Args:
        kind: one of `KINDS`.
        count: number of processes.
        processors: number of threads of a parallel process.
        own_nice: nice value of the measured program and its processes.
    """
    threads = processors if KINDS[kind].parallel else 1
    nice = LOWEST if KINDS[kind].niced else own_nice
    return count * threads * relative_weight(nice, own_nice)


def own_nice() -> int:
    """The nice value of this process, which its child processes inherit."""
    return os.nice(0) if hasattr(os, "nice") else 0


@contextmanager
def background_load(
    kind: str, count: int, *, threads: int, job: EngineTask, limit: float | None = None
) -> Iterator[Callable[[], None]]:
    """Keep `count` processes computing; yields a function that raises if a process has ended.

    Args:
        kind: one of `KINDS`.
        count: number of processes, which may be 0.
        threads: number of threads of a parallel process.
        job: the task of an engine process.
        limit: seconds within which all processes must be computing.

    Raises:
        ModelError: a process did not start, or has ended.
    """
    task = json.dumps({"kind": kind, "threads": threads, "job": job.to_json()})
    with ExitStack() as stack:
        children = [stack.enter_context(Child(_WORK, task)) for _ in range(count)]
        for child in children:
            _wait_until_ready(kind, child, limit)

        def check() -> None:
            for child in children:
                if not child.alive:
                    raise _ended(kind, child)

        yield check


def _wait_until_ready(kind: str, child: Child, limit: float | None) -> None:
    try:
        said = child.answer(limit)
    except TimeoutError:
        raise ModelError(
            f"The background process {kind!r} did not begin to compute in {limit:g} s; "
            "give it a longer --limit."
        ) from None
    if not said:
        child.end()
        raise _ended(kind, child)


def _ended(kind: str, child: Child) -> ModelError:
    return ModelError(f"The background process {kind!r} has ended by itself; {child.last_words()}")

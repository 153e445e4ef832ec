"""Background load: start processes that compute beside what is measured, and always end them."""

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
    """What a background process is."""

    parallel: bool = False
    """Whether it has a thread for each processor, and not just one."""
    niced: bool = False
    """Whether it runs at the lowest priority."""
    needs: str = ""
    """A package that may be missing."""


KINDS = {
    "spin": Kind(),
    "niced": Kind(niced=True),
    "training": Kind(parallel=True, needs="torch"),
    "engine": Kind(parallel=True),
}
"""By the names that `--neighbour` takes."""


def require(kind: str) -> None:
    """Look before anything is measured whether the kind can be started.

    Raises:
        ModelError: there is no such kind, or a package is missing.
    """
    if kind not in KINDS:
        raise ModelError(f"There is no background process {kind!r}; take {', '.join(KINDS)}.")
    needed = KINDS[kind].needs
    if needed and not find_spec(needed):
        raise ModelError(
            f"The background process {kind!r} needs {needed}, which is not installed; "
            "“pip install 'rolellm-agents[hf]'” brings it."
        )


def total_weight(kind: str, count: int, processors: int, own_nice: int = 0) -> float:
    """The weight of all threads of the background processes, for `fair_share`.

    Args:
        kind: one of `KINDS`.
        count: how many processes.
        processors: as many threads has a process that is parallel.
        own_nice: of the program that is measured, and of what it starts.
    """
    threads = processors if KINDS[kind].parallel else 1
    nice = LOWEST if KINDS[kind].niced else own_nice
    return count * threads * relative_weight(nice, own_nice)


def own_nice() -> int:
    """The priority of this process, which all that it starts inherit."""
    return os.nice(0) if hasattr(os, "nice") else 0


@contextmanager
def background_load(
    kind: str, count: int, *, threads: int, job: EngineTask, limit: float | None = None
) -> Iterator[Callable[[], None]]:
    """Keep `count` processes computing; gives a function that raises when one of them has ended.

    Args:
        kind: one of `KINDS`.
        count: how many; with 0 nothing is started.
        threads: of a process that is parallel.
        job: what an engine loads, and what it answers.
        limit: seconds in which all must have begun to compute.

    Raises:
        ModelError: a process did not begin, or has ended.
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

"""Measures the `data` commands on a data set of RoleBench's size (`rolellm bench data`).

Each command runs in a separate process. The samples consist of words of the bundled cast, in RoleBench's
proportions: half are general instructions to many roles, with five answers each. The other half are
questions to one role, and a quarter of these are copies in which one word was changed.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from rolellm_agents.datasets.sample import Sample
from rolellm_agents.datasets.writing import write_samples
from rolellm_agents.persona import list_personas

_ROLES: Final = 95
_GENERAL_ANSWERS: Final = 5
_COMMAND: Final = (sys.executable, "-c", "from rolellm_tui.cli.main import main; main()", "data")

Progress = Callable[[str], None]


def measure_data(rows: int, progress: Progress = lambda _: None) -> list[dict[str, Any]]:
    """Measure wall-clock seconds, CPU seconds and megabytes of each command.

    Args:
        rows: number of the data set's rows.
        progress: called with a description of each step.
    """
    measured = []
    with tempfile.TemporaryDirectory(prefix="rolellm-bench-") as place:
        folder = Path(place)
        progress(f"{rows:,} rows are made …")
        write_samples(folder / "made.jsonl", made_samples(rows))
        for name, arguments in _commands(folder):
            progress(f"{name} …")
            measured.append({"command": name, "rows": rows, **_run(arguments)})
    return measured


def made_samples(rows: int, seed: int = 0) -> Iterator[Sample]:
    """Generate samples from the words of the cast."""
    rng = random.Random(seed)  # no secret
    cast = [found.persona for found in list_personas().found if found.persona.language == "en"]
    names = [persona.name for persona in cast[:_ROLES]]
    words = [word for persona in cast for pair in persona.demonstrations for word in pair.reply.split()]

    def said(length: int) -> str:
        return " ".join(rng.choices(words, k=length))

    instructions = [said(rng.randint(8, 45)) for _ in range(max(1, rows // 2 // len(names)))]
    for number in range(rows // 2):
        asked = instructions[number // len(names) % len(instructions)]
        answers = tuple(said(rng.randint(3, 45)) + "." for _ in range(_GENERAL_ANSWERS))
        yield Sample(names[number % len(names)], asked, answers, "general", (), "en")
    last = said(12)
    for number in range(rows - rows // 2):
        if number % 4 == 3:
            changed = last.split()
            changed[rng.randrange(len(changed))] = rng.choice(words)
            last = " ".join(changed)
        else:
            last = said(rng.randint(9, 22))
        name = names[number % len(names)]
        answer = said(rng.randint(40, 90)) + "."
        yield Sample(name, f"{name}, {last}?", (answer,), "role_specific", ("script_based",), "en")


def _commands(folder: Path) -> Iterator[tuple[str, list[str]]]:
    made, merged, split = (str(folder / name) for name in ("made.jsonl", "merged", "split"))
    yield "merge", ["merge", made, made, "--out", merged]
    yield "split --by instructions", ["split", merged, "--out", split]
    yield "split --by roles", ["split", merged, "--by", "roles", "--out", str(folder / "roles")]
    yield "check", ["check", split, "--json"]
    yield "stats", ["stats", split]
    yield "convert --to chatml", ["convert", split, "--to", "chatml", "--out", str(folder / "chatml")]


def _run(arguments: list[str]) -> dict[str, float]:
    began = time.perf_counter()
    with subprocess.Popen(
        (*_COMMAND, *arguments), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as run:
        _, status, used = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - began
    if run.returncode not in (0, 1):
        raise RuntimeError(f"{arguments} ended with {run.returncode}")
    return {
        "seconds": round(seconds, 1),
        # CPU time approximates the time on an idle machine.
        "cpu_s": round(used.ru_utime + used.ru_stime, 1),
        "peak_mb": round(used.ru_maxrss / 1024),
    }

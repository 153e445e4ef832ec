"""How long the `data` commands take for a data set of RoleBench's size, and how much memory.

Run by `rolellm bench data`. Each command is a process of its own. The samples are made of the words of the
bundled cast, in RoleBench's proportions: half of them general instructions that many roles are asked, five
answers each, half of them questions to one role, of which a quarter are another one with a word changed.
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
    """Seconds, also of the processor alone, and megabytes of each command.

    Args:
        rows: of the data set.
        progress: is told what is going on.
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
    """Samples of words that the cast says."""
    drawn = random.Random(seed)  # no secret
    cast = [found.persona for found in list_personas().found if found.persona.language == "en"]
    names = [persona.name for persona in cast[:_ROLES]]
    words = [word for persona in cast for pair in persona.demonstrations for word in pair.reply.split()]

    def said(length: int) -> str:
        return " ".join(drawn.choices(words, k=length))

    instructions = [said(drawn.randint(8, 45)) for _ in range(max(1, rows // 2 // len(names)))]
    for number in range(rows // 2):
        asked = instructions[number // len(names) % len(instructions)]
        answers = tuple(said(drawn.randint(3, 45)) + "." for _ in range(_GENERAL_ANSWERS))
        yield Sample(names[number % len(names)], asked, answers, "general", (), "en")
    last = said(12)
    for number in range(rows - rows // 2):
        if number % 4 == 3:
            changed = last.split()
            changed[drawn.randrange(len(changed))] = drawn.choice(words)
            last = " ".join(changed)
        else:
            last = said(drawn.randint(9, 22))
        name = names[number % len(names)]
        answer = said(drawn.randint(40, 90)) + "."
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
        # What it would be on a machine that does nothing else.
        "cpu_s": round(used.ru_utime + used.ru_stime, 1),
        "peak_mb": round(used.ru_maxrss / 1024),
    }

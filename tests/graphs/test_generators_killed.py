"""A generator that is killed again and again ends with what it would have made undisturbed."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.oracle import Oracle

from rolellm_agents.errors import StorageError
from rolellm_agents.generation.instructions import Instruction
from rolellm_agents.persona import Persona
from rolellm_agents.runs.folder import Run
from rolellm_graphs.generate.rolegpt import RoleGPTRequest, rolegpt
from rolellm_graphs.runs.items import RunLimits

ADA = Persona(id="ada", name="Ada", description="Ada keeps a lighthouse on Gull Rock.")
ASKED = tuple(Instruction(f"i{number}", f"Tell me thing {number}.", "en", "") for number in range(12))

KILLED = """
import asyncio, os, random, signal, sys, time
from pathlib import Path
from helpers.oracle import Oracle
from rolellm_agents.generation.characters import read_character
from rolellm_agents.generation.instructions import Instruction
from rolellm_agents.persona import Knowledge, Persona
from rolellm_graphs.generate.context_instruct import ContextRequest, context_instruct
from rolellm_graphs.runs.items import RunLimits
from rolellm_graphs.generate.rolegpt import RoleGPTRequest, rolegpt

text = "The storm took the lamp, the herring, the bell and the rope."
told = tuple(Knowledge(title=f"Thing {n}", text=text) for n in range(8))
ada = Persona(id="ada", name="Ada", description="Ada keeps a lighthouse.", knowledge=told)
asked = tuple(Instruction(f"i{n}", f"Tell me thing {n}.", "en", "") for n in range(20))


async def generate(folder):
    model, limits = Oracle(seconds=0.01, spoiled=4), RunLimits(at_once=4)
    await rolegpt(
        RoleGPTRequest(personas=(ada,), instructions=asked),
        model, model_name="oracle", folder=folder / "rolegpt", limits=limits,
    )
    await context_instruct(
        ContextRequest(characters=(read_character(ada, script=None, most=300),)),
        model, model_name="oracle", folder=folder / "context", limits=limits,
    )


folder, seed = Path(sys.argv[1]), int(sys.argv[2])
asyncio.run(generate(folder / "warm"))  # so that a child begins at once
chance = random.Random(seed)
kills = 0
while kills < 10:
    child = os.fork()
    if child == 0:
        asyncio.run(generate(folder / "killed"))
        os._exit(0)
    time.sleep(chance.uniform(0.02, 0.25))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    kills += 1
    print("killed" if os.WIFSIGNALED(status) else "ended", flush=True)
asyncio.run(generate(folder / "killed"))
asyncio.run(generate(folder / "whole"))
"""


def test_killed_ten_times_at_random_it_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), "1"],
        capture_output=True,
        text=True,
        timeout=280,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert done.stdout.count("killed") >= 3, "it must have been in the middle of it"
    for file in (
        "rolegpt/samples.jsonl",
        "rolegpt/rolegpt_baseline.jsonl",
        "rolegpt/left_out.jsonl",
        "context/samples.jsonl",
        "context/left_out.jsonl",
    ):
        assert (tmp_path / "killed" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()
    for run in ("rolegpt", "context"):
        killed, whole = (_keys(tmp_path / folder / run / "items.jsonl") for folder in ("killed", "whole"))
        assert sorted(killed) == sorted(whole), "each item once"


def _keys(file: Path) -> list[str]:
    return [json.loads(line)["key"] for line in file.read_text(encoding="utf-8").splitlines()]


async def run(folder: Path, model: Oracle | None = None) -> Any:
    request = RoleGPTRequest(personas=(ADA,), instructions=ASKED, samples=2)
    return await rolegpt(
        request, model or Oracle(), model_name="oracle", folder=folder, limits=RunLimits(at_once=3)
    )


async def test_a_full_disk_is_told_in_one_sentence_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = 9
    append = Run.append

    def full(self: Run, key: str, value: Any) -> int:
        nonlocal room
        room -= 1
        if room < 0:
            raise StorageError(
                "The run's folder cannot be written (No space left on device); check permissions "
                "and free space."
            )
        return append(self, key, value)

    monkeypatch.setattr(Run, "append", full)
    with pytest.raises(StorageError, match="No space left on device"):
        await run(tmp_path / "full")
    monkeypatch.undo()
    assert len(_keys(tmp_path / "full" / "items.jsonl")) == 9
    model = Oracle()
    assert (await run(tmp_path / "full", model)).complete
    assert len(model.calls) == 24 - 9
    await run(tmp_path / "whole")
    assert (tmp_path / "full" / "samples.jsonl").read_bytes() == (
        tmp_path / "whole" / "samples.jsonl"
    ).read_bytes()


def test_half_a_line_that_a_full_disk_took_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rolellm_agents.runs.folder import open_run

    real = os.fsync

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with open_run(tmp_path, {"a": 1}, in_memory=False) as held:
        first = held.append("one", {"text": "x" * 100})
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(
            StorageError,
            match=r"No space left on device\); check permissions and free space, or name another",
        ):
            held.append("two", {"text": "y" * 100})
        monkeypatch.setattr(os, "fsync", real)
        third = held.append("three", {"text": "z"})
        assert held.read(first) == {"text": "x" * 100}
        assert held.read(third) == {"text": "z"}
    assert _keys(tmp_path / "items.jsonl") == ["one", "three"]

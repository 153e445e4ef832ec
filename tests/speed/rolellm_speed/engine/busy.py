"""Measures the engines beside background processes (`rolellm bench engine --busy 0,1,2,4`)."""

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rolellm_agents.models.llamacpp import library
from rolellm_agents.models.llamacpp.files.gguf import embedded_gguf
from rolellm_speed.engine.background import background_load, own_nice, require, total_weight
from rolellm_speed.engine.busy_report import ALONE, Beside, Cell, Measurement, duration, report, time_left
from rolellm_speed.engine.fair_share import fair_share
from rolellm_speed.engine.figures import OURS
from rolellm_speed.engine.load_meter import LoadMeter
from rolellm_speed.engine.measure import CONTENDERS, installed, machine, missing_notes
from rolellm_speed.engine.plan import ANSWER_PROMPT_TOKENS, CARD_TOKENS, EnginePlan, Entry, Size, make_plan
from rolellm_speed.engine.play import DECODED
from rolellm_speed.engine.process import TimedOutError, run_job
from rolellm_speed.engine.system import EngineTask

SYSTEMS = (OURS, "llama_cpp", "llama_server", "raw")
"""The systems under test; the server uses its default settings."""
_POLICY = "OMP_WAIT_POLICY"
_FIGURES = {"answer": "answer_s", "scene": "scene_s"}
"""The measured jobs, and the names of their times."""


class _Step(NamedTuple):
    """One planned measurement."""

    cell: Cell
    job: EngineTask


def measure_busy(
    *,
    counts: Sequence[int],
    neighbours: Sequence[str] = ("spin",),
    characters: int = 2,
    turns: int = 6,
    reply: int = 16,
    rounds: int = 1,
    limit: float = 120.0,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Measure every system under test alone, and beside each number of each kind of background process.

    All systems use the same weights and a thread for each processor.

    Args:
        counts: numbers of background processes; 0 is always measured as the baseline.
        neighbours: kinds of background processes; see `background.KINDS`.
        characters: number of characters, who speak in turn.
        turns: number of lines.
        reply: number of tokens of a line.
        rounds: number of rounds, of which the medians are reported.
        limit: seconds for the start of a system, and for each measurement.
        progress: called with a description of each step and the remaining time.

    Raises:
        ModelError: a system or a background process failed.
        PersonaError: there are fewer characters.
    """
    for kind in neighbours:
        require(kind)
    weights = embedded_gguf()
    plan = make_plan(weights, Size(characters, turns, reply), flash_attention=None)
    systems = {name: entry for name, entry in installed().items() if name in SYSTEMS}
    besides = [ALONE, *(Beside(kind, count) for kind in neighbours for count in counts if count)]
    measurer = _Measurer(plan, weights, limit, total=rounds * len(besides) * len(systems) * 2)
    for _ in range(rounds):
        for beside in besides:
            measurer.measure(beside, systems, progress or (lambda _: None))
    shares = {beside: _share(beside, plan.threads) for beside in besides}
    return {
        "machine": machine(measurer.features),
        "workload": _workload(plan, weights, rounds, limit),
        "busy": report(measurer.samples, shares),
        "notes": [*missing_notes(), *_waiting_notes()],
    }


class _Measurer:
    """Runs measurements and collects their results."""

    def __init__(self, plan: EnginePlan, weights: Path, limit: float, total: int) -> None:
        self.samples: dict[Cell, list[Measurement]] = defaultdict(list)
        self.features: dict[str, list[str]] = {}
        self._plan, self._weights, self._limit, self._total = plan, weights, limit, total
        self._took: list[float] = []

    def measure(
        self, beside: Beside, systems: Mapping[str, Entry], progress: Callable[[str], None]
    ) -> None:
        """Measure all systems beside the same background processes."""
        if beside.processes:
            progress(f"Starting background processes: {beside}")
        job = self._plan.short_jobs(CONTENDERS[OURS], self._weights, self._limit)["answer"]
        with background_load(*beside, threads=self._plan.threads, job=job, limit=self._limit) as check:
            for step in self._steps(beside, systems):
                began = time.monotonic()
                progress(self._doing(step.cell))
                self.samples[step.cell].append(self._sample(step))
                check()
                self._took.append(time.monotonic() - began)

    def _steps(self, beside: Beside, systems: Mapping[str, Entry]) -> Iterator[_Step]:
        for name, entry in systems.items():
            for what, job in self._plan.short_jobs(entry, self._weights, self._limit).items():
                yield _Step(Cell(beside, name, what), job)

    def _sample(self, step: _Step) -> Measurement:
        meter = LoadMeter()
        seconds = None
        try:
            outcome = run_job(step.cell.system, step.job, limit=self._limit, meter=meter)
        except TimedOutError:
            pass
        else:
            seconds = outcome.figures[_FIGURES[step.cell.what]]
            self.features[step.cell.system] = outcome.features
        return Measurement(seconds, meter.before, meter.during)

    def _doing(self, cell: Cell) -> str:
        done = len(self._took)
        left = time_left(self._took, self._total - done)
        eta = f", about {duration(left)} left" if self._took else ""
        return f"{cell.system} beside {cell.beside}: {cell.what} ({done + 1} of {self._total}{eta})"


def _waiting_notes() -> list[str]:
    """A note if the environment sets OpenMP's wait policy, which affects results on a busy machine."""
    policy = os.environ.get(_POLICY)
    return [f"All systems are measured with {_POLICY}={policy}, as the environment says."] if policy else []


def _share(beside: Beside, threads: int) -> float:
    processors = library.processors()
    if not beside.processes:
        return 1.0
    weight = total_weight(beside.neighbour, beside.processes, processors, own_nice())
    return fair_share(processors, threads, weight)


def _workload(plan: EnginePlan, weights: Path, rounds: int, limit: float) -> dict[str, Any]:
    return {
        "weights": weights.name,
        "characters": len(plan.scene.heads),
        "turns": plan.scene.turns,
        "reply": plan.scene.reply,
        "rounds": rounds,
        "threads": plan.threads,
        "card_tokens": CARD_TOKENS,
        "answer_prompt_tokens": ANSWER_PROMPT_TOKENS,
        "answer_tokens": DECODED,
        "limit_s": limit,
    }

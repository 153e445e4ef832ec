"""Runs and times an engine's job, in the engine's process."""

import math
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import NamedTuple

from rolellm_speed.engine.figures import Figures
from rolellm_speed.engine.system import EngineTask, EngineUnderTest
from rolellm_speed.engine.workload import WorkloadScene, WorkloadTalk

AT_ONCE = (1, 4, 8, 16)
"""Numbers of requests that are decoded together."""
DECODED = 32
"""Number of tokens of each of these answers."""
_REPETITIONS = 3


class EngineOutcome(NamedTuple):
    """The results of an engine's process."""

    features: list[str]
    """The CPU features that its build of llama.cpp uses."""
    figures: Figures


def perform(job: EngineTask, ready: Callable[[], None] = lambda: None) -> EngineOutcome:
    """Run a job in this process.

    Args:
        job: the job.
        ready: called after the model is loaded and the warm-up has finished.
    """
    engine: EngineUnderTest = import_module(job.module).open_engine(job)
    figures: Figures = {}
    if job.warm_up:
        engine.turn(0, job.warm_up, 4)
    ready()
    if job.scene:
        figures |= play_scene(engine, job.scene)
    if job.prompts:
        figures |= time_decoding(engine, job.prompts)
    if job.answer_to:
        figures |= time_answers(engine, job.answer_to, math.inf if job.limit is None else job.limit)
    figures["memory_mb"] = peak_memory_mb()
    engine.close()
    return EngineOutcome(list(engine.features), figures)


def play_scene(engine: EngineUnderTest, scene: WorkloadScene) -> Figures:
    """Let the characters speak in turn until all lines are spoken."""
    talk = WorkloadTalk(scene)
    sent = evaluated = 0
    waits = []
    began = time.perf_counter()
    for number in range(scene.turns):
        if number:
            engine.between(talk.heard)
        speaker = number % len(scene.heads)
        prompt = talk.prompt(speaker)
        turn = engine.turn(speaker, prompt, scene.reply)
        talk.say(speaker, turn.tokens)
        sent += len(prompt)
        evaluated += turn.evaluated
        waits.append(turn.first_token_s * 1000)
    return {
        "scene_s": round(time.perf_counter() - began, 3),
        "sent": sent,
        "evaluated": evaluated,
        "reuse": round(1 - evaluated / sent, 3),
        "ttft_ms": round(median(waits), 1),
        "last_turn_ttft_ms": round(waits[-1], 1),
    }


def time_decoding(engine: EngineUnderTest, prompts: Sequence[Sequence[int]]) -> Figures:
    """Measure total tokens per second by the number of concurrent requests."""
    rates: Figures = {}
    for count in AT_ONCE:
        if count > min(engine.at_once, len(prompts)):
            break
        engine.decode_together(prompts[:count], 2)  # prefills the prompts
        measured = (engine.decode_together(prompts[:count], DECODED) for _ in range(_REPETITIONS))
        rates[f"decode_{count}"] = round(median(measured), 1)
    return rates


def time_answers(engine: EngineUnderTest, prompt: Sequence[int], limit: float) -> Figures:
    """Measure the median seconds of a few answers to a prompt that is already prefilled.

    Args:
        engine: the engine, which has prefilled the prompt.
        prompt: the prompt of all answers.
        limit: seconds for all answers; a further answer starts only if it would fit into them.
    """
    seconds: list[float] = []
    while len(seconds) < _REPETITIONS and (not seconds or sum(seconds) + max(seconds) <= limit):
        began = time.perf_counter()
        engine.turn(0, prompt, DECODED)
        seconds.append(time.perf_counter() - began)
    return {"answer_s": round(median(seconds), 3), "answers": len(seconds)}


def peak_memory_mb() -> float | None:
    """This process's peak memory; None if the system does not report it."""
    # On Linux a child process inherits the parent's peak in `ru_maxrss`; this counter starts at zero.
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return round(int(line.split()[1]) / 1024, 1)
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1024 * 1024 if sys.platform == "darwin" else 1024), 1)

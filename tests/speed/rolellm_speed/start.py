"""Measures the waiting time for `--help` and for the first word of an answer (`rolellm bench start`)."""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from statistics import median
from typing import Any

_ROLELLM = (sys.executable, "-c", "from rolellm_tui.cli.main import main; main()")
_LINES = (
    "What do you make of my shoes?",
    "Did you ever love anyone?",
    "How do you like your tea?",
    "What is the capital of Portugal?",
    "Would you lie to save a friend?",
)
"""Lines that recall different demonstrations."""
HEAVY = ("torch", "transformers", "chromadb", "llama_cpp", "textual")
"""Modules that neither `import rolellm_agents` nor `--help` may load."""


def measure_start(rounds: int) -> dict[str, Any]:
    """Measure the median seconds of `rounds` runs."""
    first, again = zip(*(_first_words_of_processes() for _ in range(rounds)), strict=True)
    return {
        "rounds": rounds,
        "python_s": round(median(_seconds(sys.executable, "-c", "pass") for _ in range(rounds)), 3),
        "help_s": round(median(_seconds(*_ROLELLM, "--help") for _ in range(rounds)), 3),
        "help_loads": _heavy_modules_of_help(),
        "persona_list_s": round(median(_seconds(*_ROLELLM, "persona", "list") for _ in range(rounds)), 3),
        "load_cast_s": round(median(_seconds_of_the_cast() for _ in range(rounds)), 3),
        "say_first_word_first_start_s": round(median(first), 2),
        "say_first_word_later_start_s": round(median(again), 2),
        **_first_words_warm(rounds),
    }


def _seconds(*command: str) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


def _seconds_of_the_cast() -> float:
    """Seconds for reading and validating every persona, without the start of the process."""
    from rolellm_agents.persona import list_personas

    began = time.perf_counter()
    list_personas()
    return time.perf_counter() - began


def _heavy_modules_of_help() -> list[str]:
    code = (
        "import sys, rolellm_agents, rolellm_tui.cli.main\n"
        "try: rolellm_tui.cli.app(['--help'])\n"
        "except SystemExit: pass\n"
        f"print('HEAVY', *[name for name in {HEAVY!r} if name in sys.modules])"
    )
    said = subprocess.run((sys.executable, "-c", code), check=True, capture_output=True, text=True)
    return said.stdout.rsplit("HEAVY", 1)[1].split()


def _first_words_of_processes() -> tuple[float, float]:
    """Seconds from a process's start to its first byte, with an empty home folder and for a second line."""
    with tempfile.TemporaryDirectory() as home:
        return _first_word(home, _LINES[0]), _first_word(home, _LINES[1])


def _first_word(home: str, line: str) -> float:
    began = time.perf_counter()
    process = subprocess.Popen(
        (*_ROLELLM, "say", "sherlock-holmes", line, "--max-tokens", "1", "--seed", "1"),
        stdout=subprocess.PIPE,
        env={**os.environ, "ROLELLM_HOME": home},
    )
    with process:
        assert process.stdout is not None
        process.stdout.read(1)
        waited = time.perf_counter() - began
        process.stdout.read()
    return waited


def _first_words_warm(rounds: int) -> dict[str, float]:
    """Seconds to the first word by strategy, with a loaded model, for further lines to the same persona."""
    from rolellm_agents.prompting.strategies import STRATEGIES

    return {
        f"say_first_word_warm_{strategy}_s": asyncio.run(_first_word_warm(strategy, rounds))
        for strategy in STRATEGIES
    }


async def _first_word_warm(strategy: str, rounds: int) -> float:
    from rolellm_agents.models.catalog import get_model
    from rolellm_agents.persona import load_persona
    from rolellm_agents.transcript import Transcript
    from rolellm_graphs.chat.session import Session
    from rolellm_graphs.events import TokenDelta

    holmes = load_persona("sherlock-holmes")
    model = get_model("llamacpp:smollm2", max_tokens=1, temperature=0)
    waits = []
    with Transcript() as transcript:
        for turn in range(rounds + 1):
            session = Session(holmes, transcript, model=model, strategy=strategy)
            began = time.perf_counter()
            waits += [
                time.perf_counter() - began
                async for event in session.send(_LINES[turn % len(_LINES)])
                if isinstance(event, TokenDelta)
            ]
    return round(median(waits[1:]), 2)

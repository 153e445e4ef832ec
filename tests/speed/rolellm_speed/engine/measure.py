"""Runs all engines, one after the other, and compares their figures."""

import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from rolellm_agents.models.llamacpp import library
from rolellm_agents.models.llamacpp.files.gguf import embedded_gguf
from rolellm_agents.models.llamacpp.files.weights import fastest_weights
from rolellm_agents.models.llamacpp.tuning.settings import tuning_for
from rolellm_speed.engine.figures import OURS, Figures, medians, omitted_ratios, ratios
from rolellm_speed.engine.load import most
from rolellm_speed.engine.load_meter import LoadMeter
from rolellm_speed.engine.plan import CARD_TOKENS, PROMPT_TOKENS, EnginePlan, Entry, Size, make_plan
from rolellm_speed.engine.play import DECODED
from rolellm_speed.engine.process import run_job

Progress = Callable[[str], None]

_HERE = __name__.rpartition(".")[0]
_SERVER = "xllamacpp"
CONTENDERS = {
    OURS: Entry(f"{_HERE}.ours"),
    "llama_cpp": Entry(f"{_HERE}.one_call", tuned=False),
    "llama_server": Entry(f"{_HERE}.server", tuned=False, needs=_SERVER),
    "llama_server_tuned": Entry(f"{_HERE}.server", needs=_SERVER),
    "raw": Entry(f"{_HERE}.raw"),
}
"""The engines, in the order of runs and reports."""
_OURS_INSTALLED = "ours, as installed"
_OTHERS_INSTALLED = ("llama_server", "llama_cpp")
"""The engines of the second comparison, which use their default settings."""


class _EngineRun(NamedTuple):
    entry: Entry
    weights: Path


@dataclass
class _Measured:
    rounds: dict[str, list[Figures]] = field(default_factory=dict)
    """The figures of each run, one set for each round."""
    features: dict[str, list[str]] = field(default_factory=dict)
    others: dict[str, dict[str, float | None]] = field(default_factory=dict)
    """For each run and figure the highest share of CPU time that other programs used in a round."""
    load: list[dict[str, Any]] = field(default_factory=list)
    """The machine's load before and during each measurement."""

    def figures(self, name: str) -> Figures:
        """The medians of a run's rounds."""
        return medians(self.rounds[name])

    def note_load(self, name: str, figures: Figures, meter: LoadMeter) -> None:
        """Record other programs' load for each figure of a measurement."""
        known = self.others.setdefault(name, {})
        during = meter.during.others if meter.during else None
        for figure in figures:
            known[figure] = most((known.get(figure), during))


def measure_engine(
    *,
    characters: int = 4,
    turns: int = 24,
    reply: int = 32,
    rounds: int = 1,
    flash_attention: bool | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Play the scene with every engine on the embedded model's file, and again as installed.

    In the first comparison all engines use the same weights. In the second one our engine uses the weight
    format that it selects on this machine; the others always use the file, so their figures are reused.

    Args:
        characters: number of characters, who speak in turn.
        turns: number of lines.
        reply: number of tokens of a line.
        rounds: number of rounds, of which the medians are reported.
        flash_attention: setting of the tuned engines; None uses the calibrated setting.
        progress: called with a description of each step.

    Raises:
        ModelError: an engine failed, or the scene is too long for the model.
        PersonaError: there are fewer characters.
    """
    weights = embedded_gguf()
    plan = make_plan(weights, Size(characters, turns, reply), flash_attention)
    runs = _runs(weights)
    measured = _measure_rounds(plan, runs, rounds, progress or (lambda _: None))
    engines = {name: measured.figures(name) for name in CONTENDERS if name in runs}
    omitted = omitted_ratios(measured.others)
    return {
        "machine": machine(measured.features),
        "workload": _workload(plan, weights, rounds),
        "engines": engines,
        "ratios": ratios(engines, omitted),
        "ratios_omitted": omitted,
        "as_installed": _as_installed(measured, runs),
        "load": measured.load,
        "notes": missing_notes(),
    }


def installed() -> dict[str, Entry]:
    """The engines that can be measured here, by name."""
    return {name: entry for name, entry in CONTENDERS.items() if not entry.needs or find_spec(entry.needs)}


def missing_notes() -> list[str]:
    """A sentence for each missing package that an engine needs."""
    missing = {entry.needs for name, entry in CONTENDERS.items() if name not in installed()}
    return [
        f"llama.cpp's own server is not measured, since {package} is not installed; "
        "“pip install --group bench” in a checkout brings it."
        for package in sorted(missing)
    ]


def _runs(weights: Path) -> dict[str, _EngineRun]:
    """The runs by name; our engine also runs with the weight format that it selects."""
    runs = {name: _EngineRun(entry, weights) for name, entry in installed().items()}
    if OURS in runs:
        chosen = fastest_weights(weights, tuning_for(weights).weights)
        runs[_OURS_INSTALLED] = _EngineRun(CONTENDERS[OURS], chosen)
    return runs


def _measure_rounds(
    plan: EnginePlan, runs: Mapping[str, _EngineRun], rounds: int, progress: Progress
) -> _Measured:
    """Measure all engines in each round, so that slow periods affect all equally."""
    began = time.monotonic()
    measured = _Measured()
    for number in range(1, rounds + 1):
        for name, run in runs.items():
            found: Figures = {}
            for what, job in plan.jobs(run.entry, run.weights).items():
                spent = time.monotonic() - began
                progress(f"Round {number} of {rounds}, {name}: {what} ({spent:.0f} s so far)")
                meter = LoadMeter()
                outcome = run_job(name, job, meter=meter)
                # The scene's figures take precedence, so that the reported memory is the scene's.
                new = {figure: value for figure, value in outcome.figures.items() if figure not in found}
                found |= new
                measured.features[name] = outcome.features
                measured.note_load(name, new, meter)
                measured.load.append({"engine": name, "round": number, "what": what, **meter.to_json()})
            measured.rounds.setdefault(name, []).append(found)
    return measured


def machine(features: Mapping[str, list[str]]) -> dict[str, Any]:
    """The machine, and the versions of llama.cpp.

    Args:
        features: CPU features by engine, as its build of llama.cpp reports them.
    """
    server = features.get("llama_server")
    return {
        "processor": platform.processor() or platform.machine(),
        "processors": library.processors(),
        "features": list(library.features()),
        "llama_cpp": version("llama-cpp-python"),
        "llama_server": version(_SERVER) if server else None,
        # The wheel's build may use fewer CPU features than a local build.
        "llama_server_features": server,
    }


def _workload(plan: EnginePlan, weights: Path, rounds: int) -> dict[str, Any]:
    return {
        "weights": weights.name,
        "characters": len(plan.scene.heads),
        "turns": plan.scene.turns,
        "reply": plan.scene.reply,
        "rounds": rounds,
        "threads": plan.threads,
        "card_tokens": CARD_TOKENS,
        "context_tokens": plan.scene.room,
        "decoded_prompt_tokens": PROMPT_TOKENS,
        "decoded_tokens": DECODED,
        "tuned_flash_attention": plan.flash_attention,
    }


def _as_installed(measured: _Measured, runs: Mapping[str, _EngineRun]) -> dict[str, Any]:
    if _OURS_INSTALLED not in runs:
        return {}
    compared = {OURS: _OURS_INSTALLED, **{name: name for name in _OTHERS_INSTALLED if name in runs}}
    engines = {name: measured.figures(run) for name, run in compared.items()}
    omitted = omitted_ratios({name: measured.others[run] for name, run in compared.items()})
    return {
        "weights": runs[_OURS_INSTALLED].weights.name,
        **engines,
        "ratios": ratios(engines, omitted),
        "ratios_omitted": omitted,
    }

"""The checks of `rolellm doctor`."""

import importlib.metadata
import importlib.util
import os
import platform
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from rolellm_agents.config.paths import user_paths
from rolellm_agents.config.settings import load_settings
from rolellm_agents.errors import RoleLLMError
from rolellm_tui.cli.transcripts import read_transcript
from rolellm_tui.widgets.common.formatting import counted

_PACKAGES = ("langgraph", "langchain-core", "langchain-openai", "llama-cpp-python", "textual")
_HF_PACKAGES = ("torch", "transformers", "peft", "langchain-huggingface")
_SCARCE_BYTES = 200_000_000


class CheckupResult(NamedTuple):
    """Result of one check."""

    what: str
    state: Literal["ok", "note", "problem"]
    found: str
    advice: str = ""


def run_checkup() -> list[CheckupResult]:
    """Run all checks, in the order in which they are printed. Errors become results."""
    checks: tuple[Callable[[], Iterator[CheckupResult]], ...] = (
        _versions,
        _extra,
        _processor,
        _settings,
        _prices,
        _themes,
        _model,
        _servers,
        _folders,
        _personas,
        _conversations,
        _keys,
    )
    findings: list[CheckupResult] = []
    for check in checks:
        try:
            findings.extend(check())
        except RoleLLMError as error:
            findings.append(CheckupResult(check.__name__.strip("_"), "problem", str(error)))
    return findings


def _versions() -> Iterator[CheckupResult]:
    own = importlib.metadata.version("rolellm-agents")
    system = f"{platform.system()} {platform.machine()}"
    yield CheckupResult("rolellm", "ok", f"{own}, Python {platform.python_version()}, {system}")
    for package in _PACKAGES:
        yield _package(package, "problem", f"pip install {package}")


def _extra() -> Iterator[CheckupResult]:
    for package in _HF_PACKAGES:
        yield _package(package, "note", "for huggingface: models, pip install 'rolellm-agents[hf]'")


def _package(package: str, state: Literal["note", "problem"], advice: str) -> CheckupResult:
    try:
        return CheckupResult(package, "ok", importlib.metadata.version(package))
    except importlib.metadata.PackageNotFoundError:
        return CheckupResult(package, state, "not installed", advice)


def _processor() -> Iterator[CheckupResult]:
    from rolellm_agents.models.llamacpp import library
    from rolellm_agents.models.llamacpp.devices import gpus

    gpu = "with" if library.has_gpu() else "without"
    features = ", ".join(library.features())
    yield CheckupResult(
        "llama.cpp", "ok", f"{counted(library.processors(), 'processor')}, {gpu} GPU support; {features}"
    )
    for one in gpus():
        free, total = one.free / 1e9, one.total / 1e9
        yield CheckupResult("GPU", "ok", f"{one.name}, {free:.1f} of {total:.1f} GB free")
    yield from _load()
    if not library.repacking_is_safe():
        yield CheckupResult(
            "AMX",
            "note",
            "llama.cpp's AMX kernels crash with quantized weights, so they are disabled",
            "compile llama-cpp-python without AMX as described in the README; it is faster",
        )


def _load() -> Iterator[CheckupResult]:
    """The processors that other programs use, and the threads that remain for the engine."""
    from rolellm_agents.models.llamacpp import library
    from rolellm_agents.models.llamacpp.bindings import SPINNING_IS_BOUNDED
    from rolellm_agents.models.llamacpp.engine import cgroup
    from rolellm_agents.models.llamacpp.engine.threads import used_by_others

    most = library.processors()
    if (quota := cgroup.processor_quota()) is not None:
        yield CheckupResult("processor quota", "ok", f"{quota:g}, set by a control group")
    threads, others = used_by_others(most)
    if threads < most:
        yield CheckupResult(
            "threads",
            "note",
            f"{threads} of {most} for now, because other programs use {others:.1f} processors",
            "answers are slower meanwhile; no action is needed",
        )
    else:
        yield CheckupResult(
            "threads", "ok", f"{counted(most, 'thread')}; other programs use {others:.1f} processors"
        )
    if not SPINNING_IS_BOUNDED:
        yield CheckupResult(
            "OpenMP",
            "note",
            "llama.cpp's threads spin while they wait, as OMP_WAIT_POLICY or GOMP_SPINCOUNT says",
            "unset these variables for faster answers on a busy machine",
        )


def _settings() -> Iterator[CheckupResult]:
    from rolellm_agents.models.names import named_models
    from rolellm_agents.prompting.strategies import get_strategy

    settings = load_settings()
    file = user_paths().settings_file
    place = str(file) if file.exists() else f"{file} (missing, defaults are used)"
    yield CheckupResult("settings", "ok", place)
    if settings.strategy is not None:
        get_strategy(settings.strategy)
    strategy = settings.strategy or "the model's preferred strategy"
    yield CheckupResult("default", "ok", f"{settings.model} with {strategy}")
    names = named_models()
    if names:
        yield CheckupResult("models.toml", "ok", ", ".join(names))


def _themes() -> Iterator[CheckupResult]:
    from rolellm_tui.themes.theme_file import find_themes

    found = find_themes()
    yield CheckupResult("themes", "ok", ", ".join(sorted(theme.name for theme in found.themes)))
    for note in found.notes:
        yield CheckupResult("themes", "problem", note, "correct the file, or remove it")


def _prices() -> Iterator[CheckupResult]:
    from rolellm_agents.models.prices import listed_prices

    if listed := listed_prices():
        yield CheckupResult("prices.toml", "ok", ", ".join(listed))


def _servers() -> Iterator[CheckupResult]:
    """Model servers on this machine, which is all that is asked."""
    from rolellm_agents.models.servers import served_models

    places: dict[str, list[str]] = {}
    for model in served_models():
        places.setdefault(f"{model.server} at {model.base_url}", []).append(f"local:{model.name}")
    for place, names in places.items():
        yield CheckupResult("model server", "ok", f"{place}: {', '.join(names)}")


def _model() -> Iterator[CheckupResult]:
    from rolellm_agents.models.catalog import get_model
    from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
    from rolellm_agents.models.local import load_model
    from rolellm_agents.prompting.default_strategy import default_strategy

    name = load_settings().model
    model = get_model(name)
    load_model(model)
    yield CheckupResult("model", "ok", f"{name} works; preferred strategy {default_strategy(name)}")
    if isinstance(model, ChatLlamaCpp):
        yield _tuning(model.model_path)


def _tuning(model_file: Path) -> CheckupResult:
    from rolellm_agents.models.llamacpp.tuning.settings import stored_tuning, tuning_for
    from rolellm_tui.cli.doctor.calibrate import tuning_in_words

    used = tuning_in_words(tuning_for(model_file))
    if stored_tuning(model_file):
        return CheckupResult("tuning", "ok", f"{used}; measured on this machine")
    advice = "“rolellm doctor --calibrate” finds the fastest settings"
    return CheckupResult("tuning", "note", f"{used}; defaults, not measured", advice)


def _folders() -> Iterator[CheckupResult]:
    paths = user_paths()
    for what, folder in (("config", paths.config), ("data", paths.data), ("cache", paths.cache)):
        existing = next(place for place in (folder, *folder.parents) if place.exists())
        if not existing.is_dir() or not os.access(existing, os.W_OK):
            yield CheckupResult(
                f"{what} folder",
                "problem",
                f"{folder} is not writable",
                "give it write permission, or set ROLELLM_HOME to another folder",
            )
        elif shutil.disk_usage(existing).free < _SCARCE_BYTES:
            yield CheckupResult(f"{what} folder", "problem", f"{folder} is nearly full", "make room there")
        else:
            yield CheckupResult(f"{what} folder", "ok", str(folder))


def _personas() -> Iterator[CheckupResult]:
    from rolellm_agents.persona import list_personas

    cast = list_personas()
    yield CheckupResult("personas", "ok", f"{len(cast.found)}; your own belong in {user_paths().personas}")
    for note in cast.notes:
        yield CheckupResult("personas", "note", note)


def _conversations() -> Iterator[CheckupResult]:
    place = user_paths().transcript
    if not place.exists():
        yield CheckupResult("conversations", "ok", f"none yet; they will be in {place}")
        return
    with read_transcript() as transcript:
        count = len(transcript.conversations())
    yield CheckupResult("conversations", "ok", f"{count} in {place} ({_size(place)})")


def _keys() -> Iterator[CheckupResult]:
    if os.environ.get("OPENAI_API_KEY"):
        yield CheckupResult("OPENAI_API_KEY", "ok", "set")
    else:
        yield CheckupResult("OPENAI_API_KEY", "note", "not set", "only OpenAI's own models need it")


def _size(file: Path) -> str:
    return f"{file.stat().st_size / 1_000_000:.1f} MB"

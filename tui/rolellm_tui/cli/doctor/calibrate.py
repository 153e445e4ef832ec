"""`rolellm doctor --calibrate`: measure the fastest settings of the default model on this machine."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rolellm_agents.config.paths import make_folder, user_paths
from rolellm_agents.config.settings import DEFAULT_MODEL, load_settings
from rolellm_agents.errors import ModelError
from rolellm_tui.output import print_json, print_table, print_text
from rolellm_tui.widgets.common.formatting import counted

if TYPE_CHECKING:
    from rolellm_agents.models.llamacpp.tuning.calibration import CalibratedTuning
    from rolellm_agents.models.llamacpp.tuning.settings import Tuning

_COLUMNS = ("WEIGHTS", "FLASH ATTENTION", "CACHE", "THREADS", "READS/S", "WRITES/S", "A TURN", "")


def calibrate_default_model(*, if_needed: bool, as_json: bool) -> None:
    """Measure, save and print the fastest settings.

    Args:
        if_needed: do nothing when settings are saved already, or llama.cpp does not run the model.
        as_json: print JSON.

    Raises:
        ModelError: the model is not a GGUF file, cannot be loaded, or the machine is too busy.
        StorageError: the cache folder cannot be written.
    """
    from rolellm_agents.models.llamacpp.tuning.settings import stored_tuning

    name = load_settings().model
    file = _file_of(name)
    kept = stored_tuning(file) if file else None
    if if_needed and (kept or not file):
        if as_json:
            print_json(_as_json(name, kept, None))
        return
    if not file:
        raise ModelError(
            f"The model {name} does not run in llama.cpp, so there is nothing to measure; "
            "name another model in ROLELLM_MODEL."
        )
    calibration = _measure_and_keep(file)
    if as_json:
        print_json(_as_json(name, calibration.tuning, calibration))
    else:
        _print(calibration)


def tuning_in_words(tuning: "Tuning") -> str:
    """Describe settings in one line."""
    weights, flash_attention, cache_type, threads = _cells(tuning)
    kinds = f"{weights} weights, flash attention {flash_attention}, {cache_type} cache"
    return f"{kinds}, at most {counted(int(threads), 'thread')}"


def _measure_and_keep(file: Path) -> "CalibratedTuning":
    from rolellm_agents.models.llamacpp.tuning.calibration import calibrate
    from rolellm_agents.models.llamacpp.tuning.settings import store_tuning

    make_folder(user_paths().cache)  # fail before measuring if the result cannot be saved
    typer.echo(
        "Measuring the fastest settings on this machine; this takes about 8 seconds, once.", err=True
    )
    calibration = calibrate(file, progress=lambda step: typer.echo(f"  {step}", err=True))
    store_tuning(file, calibration.tuning)
    return calibration


def _file_of(name: str) -> Path | None:
    from rolellm_agents.models.llamacpp.files.gguf import embedded_gguf

    if name == DEFAULT_MODEL:
        # Avoids the import of LangChain below: “make chat” calls this each time.
        return embedded_gguf()

    from rolellm_agents.models.catalog import get_model
    from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp

    model = get_model(name)
    return model.model_path if isinstance(model, ChatLlamaCpp) else None


def _cells(tuning: "Tuning") -> tuple[str, str, str, str]:
    from rolellm_agents.models.llamacpp.library import processors

    flash_attention = "on" if tuning.flash_attention else "off"
    return tuning.weights, flash_attention, tuning.cache_type, str(tuning.n_threads or processors())


def _as_json(name: str, tuning: "Tuning | None", calibration: "CalibratedTuning | None") -> dict[str, Any]:
    return {
        "model": name,
        "tuning": asdict(tuning) if tuning else None,
        "gain": round(calibration.gain, 3) if calibration else None,
        "candidates": _candidates_as_json(calibration) if calibration else [],
    }


def _candidates_as_json(calibration: "CalibratedTuning") -> list[dict[str, Any]]:
    return [
        {
            **asdict(one.tuning),
            "read_per_second": round(one.read_per_second, 1),
            "write_per_second": round(one.write_per_second, 1),
            "turn_seconds": round(one.turn_seconds, 3),
            "chosen": one is calibration.chosen,
        }
        for one in calibration.candidates
    ]


def _print(calibration: "CalibratedTuning") -> None:
    rows = (
        (
            *_cells(one.tuning),
            f"{one.read_per_second:.0f} tokens",
            f"{one.write_per_second:.0f} tokens",
            f"{one.turn_seconds:.2f} s",
            "← chosen" if one is calibration.chosen else "",
        )
        for one in calibration.candidates
    )
    print_table(_COLUMNS, rows)
    if calibration.gain:
        print_text(f"Saved: a turn takes {calibration.gain:.0%} less time than with the defaults.")
    else:
        print_text("The defaults stay: no other settings are clearly faster.")

"""llama.cpp's converters and quantizer, each in a process of its own."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from rolellm_agents.errors import ModelError, StorageError
from rolellm_agents.text import one_line
from rolellm_train.export.converters import ADAPTER, MODEL

QUANTIZED: Final = ("q8_0", "q4_k_m")
WEIGHTS: Final = ("f16", *QUANTIZED)
"""Weight formats of merged models."""
_LEAST_S: Final = 900
_BYTES_A_SECOND: Final = 5_000_000
"""Time limits that suffice for a slow disk and one processor."""
_LOG_PREFIX: Final = re.compile(r"^(?:[A-Z]+:[\w.-]+:\s*|\w+(?:\.\w+)*Error:\s*)+")


def convert_adapter(converters: Path, adapter: Path, base: Path, target: Path) -> None:
    """Write a PEFT adapter as a GGUF adapter in F16.

    Args:
        converters: the folder of llama.cpp's converters.
        adapter: the folder of the PEFT adapter.
        base: the folder of the base model; its configuration and tokenizer are read.
        target: the file to write.

    Raises:
        ModelError: the adapter cannot be converted.
        StorageError: the disk is full.
    """
    script = converters / ADAPTER
    _run(
        [str(script), "--base", str(base), "--outtype", "f16", "--outfile", str(target), str(adapter)],
        limit_s=_limit(adapter),
        failure=f"llama.cpp's {ADAPTER} cannot convert the adapter",
        target=target,
    )


def convert_model(converters: Path, folder: Path, target: Path) -> None:
    """Write a transformers model as a GGUF model in F16.

    Args:
        converters: the folder of llama.cpp's converters.
        folder: the folder of the model.
        target: the file to write.

    Raises:
        ModelError: the model cannot be converted.
        StorageError: the disk is full.
    """
    _run(
        [str(converters / MODEL), "--outtype", "f16", "--outfile", str(target), str(folder)],
        limit_s=_limit(folder),
        failure=f"llama.cpp's {MODEL} cannot convert the model",
        target=target,
    )


def quantize(source: Path, target: Path, weights: str) -> None:
    """Write a GGUF model in another format.

    Args:
        source: a GGUF model in F16; any format if `weights` is F16.
        target: the file to write.
        weights: one of `WEIGHTS`.

    Raises:
        ModelError: llama.cpp cannot quantize the model.
        StorageError: the disk is full.
    """
    _run(
        ["-m", "rolellm_train.export.quantizing", str(source), str(target), weights],
        limit_s=_LEAST_S + source.stat().st_size / _BYTES_A_SECOND,
        failure=f"llama.cpp cannot quantize {source.name} to {weights}",
        target=target,
    )


def _limit(folder: Path) -> float:
    size = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
    return _LEAST_S + size / _BYTES_A_SECOND


def _run(arguments: Sequence[str], *, limit_s: float, failure: str, target: Path) -> None:
    try:
        done = subprocess.run(
            [sys.executable, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=_environment(os.environ),
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ModelError(
            f"{failure} in {limit_s / 60:.0f} minutes; try again when the machine is less busy."
        ) from error
    if done.returncode == 0 and target.is_file():
        return
    reason = _complaint(done.stderr) or f"it ended with code {done.returncode}"
    if "No space left" in reason:
        raise StorageError(f"{failure} ({reason}); make room on the disk of {target.parent}.")
    raise ModelError(f"{failure} ({reason}); llama.cpp must know the architecture and its tokenizer.")


def _environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """An environment without network, in which the converters use their own `gguf` package."""
    kept = {name: value for name, value in inherited.items() if name != "NO_LOCAL_GGUF"}
    offline = {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
    # Compiled files do not belong among files that are checked.
    return {**kept, **offline, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONIOENCODING": "utf-8"}


def _complaint(stderr: str) -> str:
    """The last line of a traceback."""
    lines = [line.strip() for line in re.split(r"[\r\n]+", stderr) if line.strip()]
    return one_line(_LOG_PREFIX.sub("", lines[-1]) or lines[-1], 200) if lines else ""

"""Settings that determine llama.cpp's speed on a machine, and the file of calibrated settings."""

import contextlib
import os
import platform
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from rolellm_agents.config.paths import make_folder, user_paths
from rolellm_agents.errors import StorageError
from rolellm_agents.models.llamacpp import library
from rolellm_agents.models.llamacpp.files.gguf import fingerprint, is_embedded


@dataclass(frozen=True)
class Tuning:
    """Settings that change the speed but not the text; the defaults suit most processors."""

    flash_attention: bool = False
    cache_type: Literal["f16", "bf16"] = "f16"
    """The number format of keys and values."""
    n_threads: Annotated[int, Field(ge=0, le=512)] = 0
    """0 takes one thread for each processor that this process may use."""
    n_batch: Annotated[int, Field(ge=1, le=8192)] = 256
    """The most tokens of one step; larger steps delay running answers longer."""
    weights: Literal["original", "q8_0"] = "q8_0"
    """The format of the embedded model's weights."""


_TUNINGS = TypeAdapter(dict[str, Tuning])


def tuning_for(model_file: Path) -> Tuning:
    """The calibrated settings for a model on this machine, or the defaults; nothing is measured."""
    return stored_tuning(model_file) or default_tuning(model_file)


def default_tuning(model_file: Path) -> Tuning:
    """The settings without a calibration; users' own files are not converted."""
    return Tuning(weights="q8_0" if is_embedded(model_file) else "original")


def stored_tuning(model_file: Path) -> Tuning | None:
    """The calibrated settings for a model on this machine, with this version of llama.cpp."""
    try:
        return _read().get(_key(model_file))
    except OSError:
        return None


def store_tuning(model_file: Path, tuning: Tuning) -> None:
    """Store calibrated settings; those of other models and machines are kept.

    Raises:
        StorageError: the cache folder cannot be written.
    """
    place = _place()
    folder = make_folder(place.parent)
    try:
        content = _TUNINGS.dump_json({**_read(), _key(model_file): tuning}, indent=2)
        descriptor, part = tempfile.mkstemp(suffix=".part", dir=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            Path(part).replace(place)
        finally:
            Path(part).unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(
            f"{place} cannot be written ({error.strerror}); give it write permission and room, "
            "or set ROLELLM_HOME to another folder."
        ) from error


def _place() -> Path:
    return user_paths().cache / "tuning.json"


def _read() -> dict[str, Tuning]:
    """All stored settings; a damaged file counts as empty, because everything can be measured again."""
    try:
        return _TUNINGS.validate_json(_place().read_bytes())
    except (OSError, ValidationError):
        return {}


def _key(model_file: Path) -> str:
    """Everything that a measurement depends on, because machines often share caches."""
    return "; ".join(
        (
            _processor_name(),
            f"{library.processors()} processors",
            " ".join(library.features()),
            f"llama-cpp-python {library.version()}",
            f"{model_file.name} {fingerprint(model_file)}",
        )
    )


def _processor_name() -> str:
    # Python does not know the name on Linux.
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()

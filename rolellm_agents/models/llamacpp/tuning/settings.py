"""The settings that decide llama.cpp's speed on a machine, and where the measured ones are kept."""

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
    """What does not change a word but how soon it comes; the defaults are what most processors like."""

    flash_attention: bool = False
    cache_type: Literal["f16", "bf16"] = "f16"
    """Numbers of keys and values."""
    n_threads: Annotated[int, Field(ge=0, le=512)] = 0
    """0 is one for each processor this process may use."""
    n_batch: Annotated[int, Field(ge=1, le=8192)] = 256
    """Tokens read in one step; also how long a step can hold a stream up."""
    weights: Literal["original", "q8_0"] = "q8_0"
    """The format the embedded model is used in."""


_TUNINGS = TypeAdapter(dict[str, Tuning])


def tuning_for(model_file: Path) -> Tuning:
    """What was measured for this model on this machine, or else the defaults; nothing is measured here."""
    return kept_tuning(model_file) or default_tuning(model_file)


def default_tuning(model_file: Path) -> Tuning:
    """What is used where nothing was measured; a person's own file stays as it is."""
    return Tuning(weights="q8_0" if is_embedded(model_file) else "original")


def kept_tuning(model_file: Path) -> Tuning | None:
    """What was measured for this model on this machine, with this llama.cpp."""
    try:
        return _read().get(_key(model_file))
    except OSError:
        return None


def keep_tuning(model_file: Path, tuning: Tuning) -> None:
    """Keep what was measured, beside what was measured for other models and machines.

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
    """All that is kept; a damaged file holds nothing, since everything in it can be measured again."""
    try:
        return _TUNINGS.validate_json(_place().read_bytes())
    except (OSError, ValidationError):
        return {}


def _key(model_file: Path) -> str:
    """Everything a measurement depends on; homes and caches are often shared between machines."""
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
    # Python knows no name on Linux.
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()

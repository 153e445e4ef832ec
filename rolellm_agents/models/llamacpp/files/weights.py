"""The embedded model's weights in the fastest format, converted once and kept in the cache."""

import contextlib
import ctypes
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Literal

from rolellm_agents.config.paths import make_folder, user_paths
from rolellm_agents.errors import StorageError
from rolellm_agents.models.checked_files import has_sha256, keep_sha256, kept_sha256, sha256_of
from rolellm_agents.models.llamacpp import library
from rolellm_agents.models.llamacpp.bindings import llama_cpp
from rolellm_agents.models.llamacpp.files.gguf import fingerprint

_GAINING = {str(llama_cpp.LLAMA_FTYPE_MOSTLY_Q4_1)}
"""Formats that take twice as long to prefill as Q8_0 without better quality.

The perplexity is 10.646, and 10.640 with Q8_0.
"""
_RESERVE = 200_000_000
"""Bytes that must stay free on the disk."""
_DEAD_AFTER = 600
"""Seconds without a write after which a temporary file counts as abandoned."""
_UNUSED_AFTER = 30 * 24 * 3600
"""Seconds without a read after which weights are removed, mostly those of an earlier llama.cpp."""


def fastest_weights(original: Path, wanted: Literal["original", "q8_0"]) -> Path:
    """The file to load instead of `original`, which is created on first use (0.6 s).

    The conversion only improves speed. If it fails, for example on a full disk, the original is returned.

    Users' own files are never copied.
    """
    if wanted == "original":
        return original
    try:
        # Another version of llama.cpp may quantize differently, or reject this version's files.
        name = f"{original.stem[:80]}-{wanted}-{fingerprint(original)}-{library.version()}"
        folder = make_folder(user_paths().cache / "weights")
        converted = _find(folder, name) or _convert(original, folder, name)
        _sweep(folder, converted)
    except (OSError, StorageError):
        return original
    return converted or original


def _find(folder: Path, name: str) -> Path | None:
    """The file that was converted earlier, if it is still as it was written."""
    for file in folder.iterdir():
        start, _, size = file.stem.rpartition("-")
        if start == name and file.suffix == ".gguf" and str(file.stat().st_size) == size:
            sha256 = kept_sha256(file)
            if sha256 is not None and has_sha256(file, sha256):
                return file
    return None


def _convert(original: Path, folder: Path, name: str) -> Path | None:
    """Requantize to a temporary file and rename it at the end, so that no incomplete file is used."""
    if shutil.disk_usage(folder).free < 2 * original.stat().st_size + _RESERVE or not _gains(original):
        return None
    descriptor, temporary = tempfile.mkstemp(suffix=".part", dir=folder)
    os.close(descriptor)
    part = Path(temporary)
    try:
        if not _quantize(original, part):
            return None
        with part.open("r+b") as written:
            # Without this, a power failure may leave an empty file of the right size.
            os.fsync(written.fileno())
        sha256 = sha256_of(part)
        converted = part.replace(folder / f"{name}-{part.stat().st_size}.gguf")
        keep_sha256(converted, sha256)
        return converted
    finally:
        part.unlink(missing_ok=True)


def _quantize(original: Path, target: Path) -> bool:
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype = llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0
    params.allow_requantize = True
    params.nthread = library.processors()
    library.LOG.install()
    source, destination = os.fsencode(original), os.fsencode(target)
    return bool(llama_cpp.llama_model_quantize(source, destination, ctypes.byref(params)) == 0)


def _gains(original: Path) -> bool:
    """Whether the weights are in a slow format; loads only the header of the file."""
    params = llama_cpp.llama_model_default_params()
    params.vocab_only = True
    library.LOG.install()
    handle = llama_cpp.llama_model_load_from_file(os.fsencode(original), params)
    if not handle:
        return False
    kind = ctypes.create_string_buffer(16)
    llama_cpp.llama_model_meta_val_str(handle, b"general.file_type", kind, len(kind))
    llama_cpp.llama_model_free(handle)
    return kind.value.decode() in _GAINING


def _sweep(folder: Path, used: Path | None) -> None:
    """Remove temporary files of killed processes, and weights that were not loaded for a month."""
    now = time.time()
    for file in folder.iterdir():
        # Another process may have removed, renamed or opened the file.
        with contextlib.suppress(OSError):
            status = file.stat()
            dead = file.suffix == ".part" and now - status.st_mtime > _DEAD_AFTER
            unused = file.suffix == ".gguf" and file != used and now - status.st_atime > _UNUSED_AFTER
            if dead or unused:
                file.unlink()

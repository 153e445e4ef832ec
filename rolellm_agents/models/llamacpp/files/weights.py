"""The embedded model's weights in the format that is computed with soonest, made once and kept."""

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
from rolellm_agents.models.llamacpp import library
from rolellm_agents.models.llamacpp.bindings import llama_cpp
from rolellm_agents.models.llamacpp.files.gguf import fingerprint

_GAINING = {str(llama_cpp.LLAMA_FTYPE_MOSTLY_Q4_1)}
"""What llama.cpp takes twice as long to read as Q8_0, at no gain: perplexity is 10.646 against 10.640."""
_MAGIC = b"GGUF"
_RESERVE = 200_000_000
"""Bytes that must stay free on the disk."""
_DEAD_AFTER = 600
"""Seconds without a write after which nobody is at work on a temporary file any more."""
_UNUSED_AFTER = 30 * 24 * 3600
"""Seconds without a read after which weights go: those of an earlier llama.cpp, mostly."""


def fastest_weights(original: Path, wanted: Literal["original", "q8_0"]) -> Path:
    """The file to load instead of `original`, made now if it is the first time (0.6 s).

    Nothing goes wrong without it but speed, so whatever stands in the way, no room or no right to
    write, gives the original.

    Args:
        original: a GGUF file that comes with us; a person's own file is not to be copied.
        wanted: the format.
    """
    if wanted == "original":
        return original
    try:
        # Another llama.cpp may quantize otherwise, or refuse what this one wrote.
        name = f"{original.stem[:80]}-{wanted}-{fingerprint(original)}-{library.version()}"
        folder = make_folder(user_paths().cache / "weights")
        made = _find(folder, name) or _make(original, folder, name)
        _sweep(folder, made)
    except (OSError, StorageError):
        return original
    return made or original


def _find(folder: Path, name: str) -> Path | None:
    """The file made earlier, if it is whole; its name ends with the size it must have."""
    for file in folder.iterdir():
        start, _, size = file.stem.rpartition("-")
        if start == name and file.suffix == ".gguf" and str(file.stat().st_size) == size:
            with file.open("rb") as content:
                if content.read(len(_MAGIC)) == _MAGIC:
                    return file
    return None


def _make(original: Path, folder: Path, name: str) -> Path | None:
    """Requantize beside the final place and rename at the end, so that nothing half-written is used."""
    if shutil.disk_usage(folder).free < 2 * original.stat().st_size + _RESERVE or not _gains(original):
        return None
    descriptor, temporary = tempfile.mkstemp(suffix=".part", dir=folder)
    os.close(descriptor)
    part = Path(temporary)
    try:
        if not _quantize(original, part):
            return None
        with part.open("r+b") as written:
            # Without this a power cut may leave a file of the right size that holds nothing.
            os.fsync(written.fileno())
        return part.replace(folder / f"{name}-{part.stat().st_size}.gguf")
    finally:
        part.unlink(missing_ok=True)


def _quantize(original: Path, target: Path) -> bool:
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype = llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0
    params.allow_requantize = True
    params.nthread = library.processors()
    library.LOG.install()
    source, aim = os.fsencode(original), os.fsencode(target)
    return bool(llama_cpp.llama_model_quantize(source, aim, ctypes.byref(params)) == 0)


def _gains(original: Path) -> bool:
    """Whether the weights are in a format that llama.cpp reads slowly; only the header is loaded for it."""
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
    """Remove what killed processes left behind, and weights that nobody has loaded for a month."""
    now = time.time()
    for file in folder.iterdir():
        # Another process may be quicker to remove or rename it, or hold it open.
        with contextlib.suppress(OSError):
            status = file.stat()
            dead = file.suffix == ".part" and now - status.st_mtime > _DEAD_AFTER
            unused = file.suffix == ".gguf" and file != used and now - status.st_atime > _UNUSED_AFTER
            if dead or unused:
                file.unlink()

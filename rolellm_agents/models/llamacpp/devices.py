"""The graphics processors that llama.cpp can use, with their memory."""

import ctypes
from dataclasses import dataclass
from typing import Final

from rolellm_agents.models.llamacpp.bindings import llama_cpp

_GPU_TYPES: Final = (1, 2)
"""`ggml_backend_dev_type`: a GPU of its own, and one that shares the machine's memory."""


@dataclass(frozen=True)
class GPU:
    """A graphics processor."""

    name: str
    free: int
    """Bytes of its memory that are free now."""
    total: int
    """Bytes of its memory."""


def gpus() -> tuple[GPU, ...]:
    """The graphics processors that this build of llama.cpp sees; none in a build for processors alone."""
    if not llama_cpp.llama_supports_gpu_offload():
        return ()
    from llama_cpp._ggml import libggml

    libggml.ggml_backend_dev_count.restype = ctypes.c_size_t
    libggml.ggml_backend_dev_get.restype = ctypes.c_void_p
    libggml.ggml_backend_dev_description.restype = ctypes.c_char_p
    found = []
    for number in range(libggml.ggml_backend_dev_count()):
        device = ctypes.c_void_p(libggml.ggml_backend_dev_get(ctypes.c_size_t(number)))
        if libggml.ggml_backend_dev_type(device) not in _GPU_TYPES:
            continue
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        libggml.ggml_backend_dev_memory(device, ctypes.byref(free), ctypes.byref(total))
        name = libggml.ggml_backend_dev_description(device).decode("utf-8", "replace")
        found.append(GPU(name, free.value, total.value))
    return tuple(found)

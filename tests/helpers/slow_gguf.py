"""A tiny model in the embedded one's format, which llama.cpp reads slowly."""

import ctypes
import os
from pathlib import Path

import llama_cpp

from helpers.tiny_gguf import make_tiny_gguf
from rolellm_agents.models.llamacpp import library


def make_tiny_q4_1(path: Path, *, seed: int) -> Path:
    """Write the model of `make_tiny_gguf`, quantized; the same seed gives the same file."""
    plain = make_tiny_gguf(path.with_suffix(".f32"), seed=seed)
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype = llama_cpp.LLAMA_FTYPE_MOSTLY_Q4_1
    params.nthread = 1
    library.LOG.install()
    assert llama_cpp.llama_model_quantize(os.fsencode(plain), os.fsencode(path), ctypes.byref(params)) == 0
    plain.unlink()
    return path

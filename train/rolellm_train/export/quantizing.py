"""llama.cpp's quantizer as a program: `python -m rolellm_train.export.quantizing SOURCE TARGET WEIGHTS`."""

import ctypes
import os
import sys
from pathlib import Path

from rolellm_agents.models.llamacpp import library
from rolellm_agents.models.llamacpp.bindings import llama_cpp

_TYPES = {
    "f16": llama_cpp.LLAMA_FTYPE_MOSTLY_F16,
    "q8_0": llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0,
    "q4_k_m": llama_cpp.LLAMA_FTYPE_MOSTLY_Q4_K_M,
}


def main(source: Path, target: Path, weights: str) -> int:
    """Quantize a file and return the exit code."""
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype = _TYPES[weights]
    params.allow_requantize = True
    params.nthread = library.processors()
    library.LOG.install()
    library.LOG.clear()
    failed = llama_cpp.llama_model_quantize(os.fsencode(source), os.fsencode(target), ctypes.byref(params))
    if failed:
        target.unlink(missing_ok=True)
        sys.stderr.write(f"{library.LOG.first_error()}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))

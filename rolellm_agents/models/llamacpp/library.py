"""llama.cpp in this process: its log, its version, and the processor features that it uses."""

import ctypes
import os
import threading
from collections import deque

from rolellm_agents.models.llamacpp.bindings import llama_cpp
from rolellm_agents.models.llamacpp.engine import cgroup


def processors() -> int:
    """How many processors this process may use; containers and taskset often allow only some.

    A fractional quota is rounded down, because the kernel suspends all threads for the rest of the period
    once they exceed the quota together.
    """
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cgroup.processor_quota()
    return allowed if quota is None else max(1, min(allowed, int(quota)))


def features() -> tuple[str, ...]:
    """The processor features that llama.cpp uses, such as `AVX512` or `AMX_INT8`."""
    return tuple(
        part.split(" = ")[0].split(":")[-1].strip()
        for part in llama_cpp.llama_print_system_info().decode().split("|")
        if part.strip().endswith("= 1")
    )


def version() -> str:
    """llama-cpp-python's version, which fixes llama.cpp's own."""
    return llama_cpp.__version__


def repacking_is_safe() -> bool:
    """Whether llama.cpp may repack weights for speed; with AMX it crashes (ggml-org/llama.cpp#20824)."""
    return not any(feature.startswith("AMX") for feature in features())


def has_gpu() -> bool:
    """Whether llama.cpp was built for a GPU."""
    return bool(llama_cpp.llama_supports_gpu_offload())


class _Log:
    """llama.cpp's log, kept from standard error; the last error messages are stored."""

    _ERROR, _CONTINUED = 4, 5

    def __init__(self) -> None:
        self._errors: deque[str] = deque(maxlen=20)
        self._in_error = False
        self._callback = llama_cpp.llama_log_callback(self._on_log)
        self._lock = threading.Lock()
        self._installed = False

    def install(self) -> None:
        """Replace llama.cpp's log function, once for the process."""
        with self._lock:
            if not self._installed:
                llama_cpp.llama_log_set(self._callback, ctypes.c_void_p(0))
                self._installed = True

    def clear(self) -> None:
        """Forget the stored errors, before a call that may fail."""
        self._errors.clear()

    def first_error(self) -> str:
        """The first stored error, which names the cause of those after it."""
        first = self._errors[0] if self._errors else "no reason given"
        return first.removeprefix("llama_model_load: error loading model: ")

    def _on_log(self, level: int, text: bytes, _: object) -> None:
        if level != self._CONTINUED:
            self._in_error = level == self._ERROR
        line = text.decode("utf-8", "replace").strip()
        if self._in_error and line:
            self._errors.append(line)


LOG = _Log()

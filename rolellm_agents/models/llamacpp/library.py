"""llama.cpp itself, as this process holds it: its log, and what it and the processor can do."""

import ctypes
import os
import threading
from collections import deque

from rolellm_agents.models.llamacpp.bindings import llama_cpp
from rolellm_agents.models.llamacpp.engine import cgroup


def processors() -> int:
    """How many processors this process may use; containers and taskset often grant fewer than there are.

    Of a quota that is a fraction the whole part counts: threads that together exceed it are all stopped
    for the rest of the period.
    """
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cgroup.processor_quota()
    return allowed if quota is None else max(1, min(allowed, int(quota)))


def features() -> tuple[str, ...]:
    """What llama.cpp uses of this processor, in its own words, such as `AVX512` or `AMX_INT8`."""
    said = llama_cpp.llama_print_system_info().decode()
    return tuple(
        part.split(" = ")[0].split(":")[-1].strip()
        for part in said.split("|")
        if part.strip().endswith("= 1")
    )


def version() -> str:
    """llama-cpp-python's version, which fixes llama.cpp's own."""
    return llama_cpp.__version__


def repacking_is_safe() -> bool:
    """Whether llama.cpp may rearrange weights for speed: with AMX it crashes (ggml-org/llama.cpp#20824)."""
    return not any(feature.startswith("AMX") for feature in features())


def has_gpu() -> bool:
    """Whether llama.cpp was built for a GPU."""
    return bool(llama_cpp.llama_supports_gpu_offload())


class _Log:
    """llama.cpp's log, which would otherwise flood the screen; its complaints are kept."""

    _ERROR, _CONTINUED = 4, 5

    def __init__(self) -> None:
        self._complaints: deque[str] = deque(maxlen=20)
        self._complaining = False
        self._callback = llama_cpp.llama_log_callback(self._hear)
        self._lock = threading.Lock()
        self._listening = False

    def listen(self) -> None:
        """Take the log over, once for the process."""
        with self._lock:
            if not self._listening:
                llama_cpp.llama_log_set(self._callback, ctypes.c_void_p(0))
                self._listening = True

    def forget(self) -> None:
        """Begin anew, before something that may fail."""
        self._complaints.clear()

    def first_complaint(self) -> str:
        """The first one names the cause; those after it only pass it on."""
        first = self._complaints[0] if self._complaints else "no reason given"
        return first.removeprefix("llama_model_load: error loading model: ")

    def _hear(self, level: int, text: bytes, _: object) -> None:
        if level != self._CONTINUED:
            self._complaining = level == self._ERROR
        line = text.decode("utf-8", "replace").strip()
        if self._complaining and line:
            self._complaints.append(line)


LOG = _Log()

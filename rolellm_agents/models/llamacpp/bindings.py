"""llama-cpp-python, imported so that llama.cpp's threads wait briefly for each other and then sleep.

Every module imports llama.cpp from here. GNU OpenMP reads how long a thread spins at a barrier once, when
it is loaded; its default of 300,000 rounds burns a processor for milliseconds while another program runs
in place of the thread that is waited for. `docs/design/busy-machine.md` has the measurements.
"""

import os
from pathlib import Path

_SPIN_COUNT = "GOMP_SPINCOUNT"
_CHOSEN_BY_THE_USER = (_SPIN_COUNT, "OMP_WAIT_POLICY")
_SPINS = "1000"
"""Rounds: some 15 to 45 microseconds, longer than two threads that both run ever wait for each other."""


def _openmp_is_loaded() -> bool:
    """Whether another package brought GNU OpenMP into this process; only Linux tells."""
    try:
        return "/libgomp.so" in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


SPINNING_IS_BOUNDED = not _openmp_is_loaded() or any(name in os.environ for name in _CHOSEN_BY_THE_USER)
"""False where GNU OpenMP was loaded before, with its own default; fewer threads must do there."""

_ours = not any(name in os.environ for name in _CHOSEN_BY_THE_USER)
if _ours:
    os.environ[_SPIN_COUNT] = _SPINS
try:
    import llama_cpp as llama_cpp
finally:
    if _ours:
        # Other libraries with an OpenMP of their own, and child processes, keep their defaults.
        del os.environ[_SPIN_COUNT]

"""llama-cpp-python, imported so that llama.cpp's threads wait briefly for each other and then sleep.

Every module imports llama.cpp from here. GNU OpenMP reads how long a thread spins at a barrier once, when
it is loaded; its default of 300,000 rounds burns a processor for milliseconds while another program runs
in place of the thread that is waited for. `docs/design/busy-machine.md` has the measurements.
"""

import os
from pathlib import Path

_SPIN_COUNT = "GOMP_SPINCOUNT"
_CHOSEN_BY_THE_USER = (_SPIN_COUNT, "OMP_WAIT_POLICY")
_STILL_BOUNDED = 10_000
_SPINS = "1000"
"""Rounds: some 15 to 45 microseconds, longer than two threads that both run ever wait for each other."""


def _openmp_is_loaded() -> bool:
    """Whether another package brought GNU OpenMP into this process; only Linux tells."""
    try:
        return "/libgomp.so" in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def _the_users_is_bounded() -> bool:
    """Whether threads sleep soon by what the user chose."""
    count = os.environ.get(_SPIN_COUNT, "")
    passive = os.environ.get("OMP_WAIT_POLICY", "").lower() == "passive"
    return int(count) <= _STILL_BOUNDED if count.isdecimal() else passive


_ours = not any(name in os.environ for name in _CHOSEN_BY_THE_USER)

SPINNING_IS_BOUNDED = not _openmp_is_loaded() if _ours else _the_users_is_bounded()
"""False where GNU OpenMP was loaded before, with its own default, or where the user wants threads to spin;
fewer threads must do there."""

if _ours:
    os.environ[_SPIN_COUNT] = _SPINS
try:
    import llama_cpp as llama_cpp
finally:
    if _ours:
        # Other libraries with an OpenMP of their own, and child processes, keep their defaults.
        del os.environ[_SPIN_COUNT]

"""Imports llama-cpp-python so that llama.cpp's threads spin only briefly at barriers and then sleep.

Every module imports `llama_cpp` from here. GNU OpenMP reads the spin count of its barriers once, when it is
loaded. Its default of 300,000 rounds wastes milliseconds of processor time whenever another program runs
instead of one of the threads. `docs/design/busy-machine.md` has the measurements.
"""

import os
from pathlib import Path

_SPIN_COUNT = "GOMP_SPINCOUNT"
_CHOSEN_BY_THE_USER = (_SPIN_COUNT, "OMP_WAIT_POLICY")
_STILL_BOUNDED = 10_000
_SPINS = "1000"
"""Rounds, 15 to 45 µs: longer than two running threads ever wait for each other."""


def _openmp_is_loaded() -> bool:
    """Whether GNU OpenMP is loaded already; always False on systems other than Linux."""
    try:
        return "/libgomp.so" in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def _user_settings_are_bounded() -> bool:
    """Whether the user's own OpenMP settings bound the spinning."""
    count = os.environ.get(_SPIN_COUNT, "")
    passive = os.environ.get("OMP_WAIT_POLICY", "").lower() == "passive"
    return int(count) <= _STILL_BOUNDED if count.isdecimal() else passive


_ours = not any(name in os.environ for name in _CHOSEN_BY_THE_USER)

SPINNING_IS_BOUNDED = not _openmp_is_loaded() if _ours else _user_settings_are_bounded()
"""False where GNU OpenMP was loaded before with its default, or where the user's settings let threads spin;
then fewer threads are used on a busy machine."""

if _ours:
    os.environ[_SPIN_COUNT] = _SPINS
try:
    import llama_cpp as llama_cpp
finally:
    if _ours:
        # Other OpenMP runtimes and child processes keep their defaults.
        del os.environ[_SPIN_COUNT]

"""Plays one scene with this project's engine and with other engines (`rolellm bench engine`).

Each engine runs in a separate process (`__main__.py`), so that memory, threads and crashes are separate,
and so that no process loads two builds of llama.cpp.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rolellm_speed.engine.busy import measure_busy
    from rolellm_speed.engine.measure import measure_engine

_MODULES = {"measure_busy": "busy", "measure_engine": "measure"}
__all__ = ["measure_busy", "measure_engine"]


def __getattr__(name: str) -> Any:
    """Import lazily, because imports would count as the memory of the engines' processes."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)

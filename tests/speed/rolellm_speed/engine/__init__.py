"""One scene, played by this project's engine and by the others there are; `rolellm bench engine` runs it.

Each engine runs in a process of its own (`__main__.py`), so that memory, threads and crashes are
its own too, and so that no two builds of llama.cpp ever meet in one.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rolellm_speed.engine.busy import measure_busy
    from rolellm_speed.engine.measure import measure_engine

_MODULES = {"measure_busy": "busy", "measure_engine": "measure"}
__all__ = ["measure_busy", "measure_engine"]


def __getattr__(name: str) -> Any:
    """Import when first used: what the engines' processes load would count as their memory."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)

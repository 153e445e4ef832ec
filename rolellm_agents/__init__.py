"""The core of RoleLLM Agents: personas, strategies, models and the transcript.

Graphs, training and user interfaces are in other packages.

```python
from rolellm_agents import get_model, load_persona
```
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rolellm_agents.errors import RoleLLMError
    from rolellm_agents.models.catalog import get_model
    from rolellm_agents.models.testing import FunctionModel, TestModel
    from rolellm_agents.persona import Persona, list_personas, load_persona
    from rolellm_agents.prompting.strategies import STRATEGIES, get_strategy
    from rolellm_agents.transcript import Transcript

_HOMES = {
    "FunctionModel": "models.testing",
    "Persona": "persona",
    "RoleLLMError": "errors",
    "STRATEGIES": "prompting.strategies",
    "TestModel": "models.testing",
    "Transcript": "transcript",
    "get_model": "models.catalog",
    "get_strategy": "prompting.strategies",
    "list_personas": "persona",
    "load_persona": "persona",
}

__all__ = [
    "STRATEGIES",
    "FunctionModel",
    "Persona",
    "RoleLLMError",
    "TestModel",
    "Transcript",
    "get_model",
    "get_strategy",
    "list_personas",
    "load_persona",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that importing the package alone loads nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

"""The LangGraph graphs of RoleLLM Agents, and the sessions and stages that run them.

```python
from rolellm_graphs import role_graph
```
"""

from rolellm_graphs.chat.session import Session
from rolellm_graphs.events import (
    Event,
    MessageDone,
    Prefilling,
    Prompted,
    Recalled,
    Retried,
    SceneEnded,
    SceneEvent,
    SpeakerChosen,
    TokenDelta,
    TurnFailed,
    Waiting,
    YourTurn,
)
from rolellm_graphs.profile import ProfileRequest, build_profile, profile_graph
from rolellm_graphs.role.chat_model import RoleChatModel
from rolellm_graphs.role.context import RoleContext
from rolellm_graphs.role.graph import RoleState, role_graph
from rolellm_graphs.role.retriever import PersonaRetriever
from rolellm_graphs.role.tool import persona_tool
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.graph import scene_graph
from rolellm_graphs.scene.stage import Stage
from rolellm_graphs.scene.state import PersonsLine, SceneContext, SceneState
from rolellm_graphs.tracing.tags import opentelemetry_handler

__all__ = [
    "Ensemble",
    "Event",
    "MessageDone",
    "PersonaRetriever",
    "PersonsLine",
    "Prefilling",
    "ProfileRequest",
    "Prompted",
    "Recalled",
    "Retried",
    "RoleChatModel",
    "RoleContext",
    "RoleState",
    "SceneContext",
    "SceneEnded",
    "SceneEvent",
    "SceneState",
    "Session",
    "SpeakerChosen",
    "Stage",
    "TokenDelta",
    "TurnFailed",
    "Waiting",
    "YourTurn",
    "build_profile",
    "opentelemetry_handler",
    "persona_tool",
    "profile_graph",
    "role_graph",
    "scene_graph",
]

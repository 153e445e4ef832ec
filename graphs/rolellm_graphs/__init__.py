"""The state machines of RoleLLM Agents, one file a graph, and the sessions and stages that drive them.

```python
from rolellm_graphs import role_graph
```
"""

from rolellm_graphs.ensemble import Ensemble
from rolellm_graphs.events import (
    Event,
    MessageDone,
    Prompted,
    Recalled,
    Retried,
    SceneEnded,
    SceneEvent,
    SpeakerChosen,
    TokenDelta,
    TurnFailed,
    YourTurn,
)
from rolellm_graphs.profile import ProfileRequest, build_profile, profile_graph
from rolellm_graphs.role import RoleContext, RoleState, role_graph
from rolellm_graphs.scene import scene_graph
from rolellm_graphs.scene_state import PersonsLine, SceneContext, SceneState
from rolellm_graphs.session import Session
from rolellm_graphs.stage import Stage

__all__ = [
    "Ensemble",
    "Event",
    "MessageDone",
    "PersonsLine",
    "ProfileRequest",
    "Prompted",
    "Recalled",
    "Retried",
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
    "YourTurn",
    "build_profile",
    "profile_graph",
    "role_graph",
    "scene_graph",
]

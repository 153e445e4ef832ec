"""The state machines of RoleLLM Agents, one file a graph, and the session that drives them.

```python
from rolellm_graphs import role_graph
```
"""

from rolellm_graphs.events import Event, MessageDone, Prompted, Recalled, TokenDelta, TurnFailed
from rolellm_graphs.profile import ProfileRequest, build_profile, profile_graph
from rolellm_graphs.role import RoleContext, RoleState, role_graph
from rolellm_graphs.session import Session

__all__ = [
    "Event",
    "MessageDone",
    "ProfileRequest",
    "Prompted",
    "Recalled",
    "RoleContext",
    "RoleState",
    "Session",
    "TokenDelta",
    "TurnFailed",
    "build_profile",
    "profile_graph",
    "role_graph",
]

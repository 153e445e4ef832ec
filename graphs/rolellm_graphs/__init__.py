"""The state machines of RoleLLM Agents, one file a graph, and the session that drives them.

```python
from rolellm_graphs import role_graph
```
"""

from rolellm_graphs.events import Event, MessageDone, Recalled, TokenDelta, TurnFailed
from rolellm_graphs.role import RoleContext, RoleState, role_graph
from rolellm_graphs.session import Session

__all__ = [
    "Event",
    "MessageDone",
    "Recalled",
    "RoleContext",
    "RoleState",
    "Session",
    "TokenDelta",
    "TurnFailed",
    "role_graph",
]

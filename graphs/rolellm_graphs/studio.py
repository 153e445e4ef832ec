"""The graphs as `langgraph dev` and Studio open them; `langgraph.json` names these functions.

Loading this file loads no model; the server brings its own checkpointer.
"""

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import MessagesState
from langgraph.graph.state import CompiledStateGraph

from rolellm_agents.settings import load_settings
from rolellm_graphs.role import RoleContext, RoleOutput, RoleState, role_graph
from rolellm_graphs.scene import SceneGraph, scene_graph


def role(config: RunnableConfig) -> CompiledStateGraph[RoleState, RoleContext, MessagesState, RoleOutput]:
    """The role graph for the configurable `persona`, `model` and `strategy`."""
    settings = load_settings()
    chosen: dict[str, Any] = config.get("configurable", {})
    return role_graph(
        chosen.get("persona", "sherlock-holmes"),
        model=chosen.get("model", settings.model),
        strategy=chosen.get("strategy", settings.strategy),
    )


def scene(config: RunnableConfig) -> SceneGraph:
    """The scene graph for the configurable `scene`, `model` and `strategy`."""
    chosen: dict[str, Any] = config.get("configurable", {})
    return scene_graph(
        chosen.get("scene", "last-booth"),
        model=chosen.get("model", load_settings().model),
        strategy=chosen.get("strategy"),
    )

"""The scene graph for `langgraph dev`: several characters and people in one place."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from langchain_core.runnables import RunnableConfig
from pydantic import Field

from rolellm_agents.config.settings import load_settings
from rolellm_agents.scene import load_scene
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.graph import SceneGraph, staged_scene_graph
from rolellm_graphs.scene.state import SceneContext
from rolellm_graphs.studio.choosing import MaxTokens, Temperature, build, cached_model


@dataclass(frozen=True, kw_only=True)
class SceneChoice(SceneContext):
    """The scene and its model."""

    scene: Annotated[str, Field(description="A scene's id or path; “rolellm scene list” shows them.")] = (
        "last-booth"
    )
    model: Annotated[
        str | None,
        Field(
            description="A model spec, or a name from models.toml; the scene's own, or that of your "
            "settings, when empty."
        ),
    ] = None
    temperature: Temperature = None
    max_tokens: MaxTokens = None
    strategy: Annotated[str | None, Field(description="The prompting strategy of the personas.")] = None


async def scene(config: RunnableConfig) -> SceneGraph:
    """The scene graph of a run's configuration."""
    return await build(config, SceneChoice, _graph)


def _graph(choice: SceneChoice) -> SceneGraph:
    loaded = load_scene(choice.scene)
    ensemble = Ensemble(
        loaded,
        model=choice.model,
        usual=load_settings().model,
        strategy=choice.strategy,
        make=partial(cached_model, temperature=choice.temperature, max_tokens=choice.max_tokens),
    )
    return staged_scene_graph(ensemble).copy({"context_schema": SceneChoice})

"""Scenes: several characters in one place, each of whom knows only what they witnessed."""

from rolellm_agents.scene.file_models import agreed, without_models
from rolellm_agents.scene.line import SceneLine, line_of
from rolellm_agents.scene.loading import LoadedScene, cast_scene, list_scenes, load_scene
from rolellm_agents.scene.scene import NARRATOR, Scene, Seat

__all__ = [
    "NARRATOR",
    "LoadedScene",
    "Scene",
    "SceneLine",
    "Seat",
    "agreed",
    "cast_scene",
    "line_of",
    "list_scenes",
    "load_scene",
    "without_models",
]

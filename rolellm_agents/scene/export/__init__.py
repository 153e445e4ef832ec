"""Scenes as files to read: a play's script, a page of a novel, a group chat."""

from rolellm_agents.scene.export.formats import SCENE_FORMATS, SceneFormat, as_seen_by, uncast
from rolellm_agents.scene.export.novel import write_novel
from rolellm_agents.scene.export.script import write_script
from rolellm_agents.scene.export.sillytavern_group import write_sillytavern_group

__all__ = [
    "SCENE_FORMATS",
    "SceneFormat",
    "as_seen_by",
    "uncast",
    "write_novel",
    "write_script",
    "write_sillytavern_group",
]

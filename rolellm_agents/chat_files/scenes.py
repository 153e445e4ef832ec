"""Scenes among conversations: what their seats are called, and how what happened reads."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import ValidationError

from rolellm_agents.chat_files.tree import path_of
from rolellm_agents.errors import ChatFileError
from rolellm_agents.scene import LoadedScene, Scene, line_of
from rolellm_agents.scene.export import uncast, write_script, write_sillytavern_group
from rolellm_agents.transcript import ConversationRecord, Message

SCENE = "scene:"
"""How the persona of a conversation begins that is a scene; the scene's id follows."""


def is_scene(persona: str) -> bool:
    """Whether this is the persona of a scene's conversation."""
    return persona.startswith(SCENE)


def scene_of(persona: str, extensions: Mapping[str, Any]) -> LoadedScene | None:
    """The scene that a conversation was begun with, to be read; None when it is a chat.

    A conversation from elsewhere may call itself a scene and hold none: then it reads like a chat.
    """
    if not is_scene(persona):
        return None
    try:
        return uncast(Scene.model_validate(extensions.get("scene")))
    except ValidationError:
        return None


def told(scene: LoadedScene | None, message: Message) -> str:
    """A message as a line to read: who said it, and in a scene how it was meant."""
    ending = f" [{message.ending}]" if message.ending else ""
    if scene is None:
        return f"{message.speaker}: {message.text}{ending}"
    # It brings in LangChain's messages, and they take a moment to load.
    from rolellm_agents.scene.view import render_line

    return f"{render_line(scene, line_of(message))}{ending}"


def write(
    record: ConversationRecord, scene: LoadedScene, format_: Literal["markdown", "sillytavern"]
) -> str:
    """A scene as it stands: a play's script, or a group chat."""
    path = path_of(record)
    lines = [line_of(message) for message in _with_endings(path)]
    if format_ == "sillytavern":
        return write_sillytavern_group(scene, lines, {message.id: message.created for message in path})
    if record.title.strip():
        titled = scene.scene.model_copy(update={"title": record.title})
        scene = replace(scene, scene=titled)
    return write_script(scene, lines)


def not_for_two() -> ChatFileError:
    """Why a scene cannot be written as a talk of two."""
    return ChatFileError(
        "ShareGPT has room for two speakers, and this is a scene; use --format markdown, sillytavern "
        "or json."
    )


def _with_endings(path: Sequence[Message]) -> list[Message]:
    return [
        replace(message, text=f"{message.text} [{message.ending}]") if message.ending else message
        for message in path
    ]

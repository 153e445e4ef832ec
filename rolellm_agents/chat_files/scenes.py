"""Conversations that are scenes: recognise them, render their lines, export them."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from rolellm_agents.chat_files.tree import active_path
from rolellm_agents.scene import LoadedScene, Scene, line_of
from rolellm_agents.scene.export import uncast, write_script, write_sillytavern_group
from rolellm_agents.scene.loading import names_file
from rolellm_agents.scene.message_kinds import MessageKind, plain_kind
from rolellm_agents.transcript import ConversationRecord, Message
from rolellm_agents.transcript.message import KINDS, is_kind_name

SCENE = "scene:"
"""The prefix of a scene conversation's persona, before the scene's id."""
_MOST_SEED = 2**63 - 1


def is_scene(persona: str) -> bool:
    """Whether a persona is that of a scene conversation."""
    return persona.startswith(SCENE)


def scene_of(persona: str, extensions: Mapping[str, Any]) -> LoadedScene | None:
    """The scene of a conversation, for reading only; None for a chat.

    An imported conversation may claim to be a scene without a valid definition; it is treated as a chat.
    Turn kinds that nobody provides here are shown by their name.
    """
    if not is_scene(persona):
        return None
    definition = extensions.get("scene")
    for turn_kinds in ((), _plain_kinds(definition)):
        with suppress(ValidationError):
            return uncast(Scene.model_validate(definition, context={"turn_kinds": turn_kinds}))
    return None


def _plain_kinds(definition: object) -> list[MessageKind]:
    names = definition.get("manners") if isinstance(definition, Mapping) else None
    own = (name for name in names if name not in KINDS) if isinstance(names, list) else ()
    return [plain_kind(name) for name in own if isinstance(name, str) and is_kind_name(name)]


def stored_here(record: ConversationRecord, source: Path) -> ConversationRecord:
    """The record of a scene as if it had been played from `source`, the file that it was read from.

    Persona files that its cast names are looked up in the folder of the scene's file, which a conversation
    from elsewhere cannot choose.
    """
    kept = {key: value for key, value in record.extensions.items() if key != "path"}
    definition = kept.get("scene")
    cast = definition.get("cast") if isinstance(definition, Mapping) else None
    if isinstance(cast, list) and any(map(_names_file, cast)):
        kept["path"] = str(source.resolve())
    seed = kept.get("seed")
    if type(seed) is not int or abs(seed) > _MOST_SEED:
        kept.pop("seed", None)
    return replace(record, extensions=kept)


def _names_file(seat: object) -> bool:
    persona = seat.get("persona") if isinstance(seat, Mapping) else seat
    return isinstance(persona, str) and names_file(persona)


def render_message(scene: LoadedScene | None, message: Message) -> str:
    """Render a message as a line with its speaker, and in a scene with its message kind."""
    ending = f" [{message.ending}]" if message.ending else ""
    if scene is None:
        return f"{message.speaker}: {message.text}{ending}"
    # Imported here because it loads LangChain's messages, which is slow.
    from rolellm_agents.scene.view import render_line

    return f"{render_line(scene, line_of(message))}{ending}"


def write(
    record: ConversationRecord, scene: LoadedScene, format_: Literal["markdown", "sillytavern"]
) -> str:
    """Write the active branch of a scene as a play's script or as a group chat."""
    path = active_path(record)
    lines = [line_of(message) for message in _with_endings(path)]
    if format_ == "sillytavern":
        return write_sillytavern_group(scene, lines, {message.id: message.created for message in path})
    if record.title.strip():
        titled = scene.scene.model_copy(update={"title": record.title})
        scene = replace(scene, scene=titled)
    return write_script(scene, lines)


def _with_endings(path: Sequence[Message]) -> list[Message]:
    return [
        replace(message, text=f"{message.text} [{message.ending}]") if message.ending else message
        for message in path
    ]

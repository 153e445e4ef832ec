"""A scene's file that is being edited: how it is opened, checked and saved."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from rolellm_agents.config.paths import user_paths
from rolellm_agents.editing.drafts import discard_draft
from rolellm_agents.editing.storing import ChangedOnDiskError
from rolellm_agents.editing.yaml_document import (
    YamlDocument,
    edited_text,
    named,
    new_yaml,
    open_copy,
    open_yaml,
    save_yaml,
)
from rolellm_agents.errors import SceneError
from rolellm_agents.files.yaml import parse_yaml
from rolellm_agents.persona import id_of
from rolellm_agents.scene.loading import FoundScene, LoadedScene, cast_scene
from rolellm_agents.scene.scene import Scene

_NEW = "id: new-scene\ntitle: ''\nsetting: ''\n"


class EditedScene(NamedTuple):
    """A document's text after changes, and the scene that it holds."""

    text: str
    scene: Scene


def open_scene(found: FoundScene) -> YamlDocument:
    """Open a scene's file; a bundled or pack scene is opened as a copy in the user's folder.

    Raises:
        SceneError: the file cannot be read.
    """
    if found.origin in ("user", "path"):
        return open_yaml(found.path, SceneError)
    return open_copy(found.path, user_paths().scenes, found.scene.id, SceneError)


def new_scene() -> YamlDocument:
    """An empty scene, with the draft of an earlier session that no other window has open.

    Raises:
        StorageError: the folder of scenes cannot be written.
    """
    return new_yaml(user_paths().scenes, "new-scene", _NEW)


def edited_scene(document: YamlDocument, data: Mapping[str, Any]) -> EditedScene:
    """The document's text with changed data, read as a scene.

    Raises:
        SceneError: the data are no valid scene, or cannot be written; the message names key and line.
    """
    text = edited_text(document, data, SceneError)
    return EditedScene(text, parse_yaml(text, document.path, Scene, SceneError))


def cast_edited(document: YamlDocument, edited: EditedScene) -> LoadedScene:
    """The scene with its cast.

    Raises:
        SceneError: two seats have the same name, or the scene refers to an unknown seat.
        PersonaError: a persona of the cast cannot be found or read.
        SettingsError: `models.toml` or `agreed.toml` cannot be used.
    """
    return cast_scene(edited.scene, document.path, text=edited.text)


def save_scene(
    document: YamlDocument, data: Mapping[str, Any], *, warned: ChangedOnDiskError | None = None
) -> YamlDocument:
    """Save changed data, and return the document as it is then.

    Args:
        document: the document that was opened.
        data: the scene's data.
        warned: the error of which the user knows; the file is replaced if it is still as it was then.

    Raises:
        ChangedOnDiskError: the file was changed on disk since it was read, or since the user was warned.
        SceneError: the data are no valid scene, or the file cannot be written.
        StorageError: the file cannot be read, or another process writes it.
    """
    target = document
    if document.is_new:
        target = named(document, id_of(str(data.get("title", ""))))
        data = {**data, "id": target.path.stem}
    edited_scene(target, data)
    saved = save_yaml(target, data, SceneError, warned=warned)
    discard_draft(document)
    return saved

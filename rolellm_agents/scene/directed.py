"""The same scene with another director."""

from dataclasses import replace
from typing import Any

from rolellm_agents.errors import SceneError
from rolellm_agents.scene.loading import LoadedScene
from rolellm_agents.scene.scene import Director, director_kinds
from rolellm_agents.text import did_you_mean


def directors_to_choose() -> list[str]:
    """The kinds of directors that need no more than their name."""
    return [kind for kind in director_kinds() if kind != "scripted"]


def directed(loaded: LoadedScene, kind: str | None) -> LoadedScene:
    """The scene with a director of another kind; with its own if none is named.

    Raises:
        SceneError: there is no such director.
    """
    if kind is None:
        return loaded
    known = directors_to_choose()
    if kind not in known:
        raise SceneError(
            f"There is no director {kind!r}{did_you_mean(kind, known)}; known are {', '.join(known)}, "
            "and “scripted” in a scene file."
        )
    changed: dict[str, Any] = {"director": Director(kind=kind)}
    return replace(loaded, scene=loaded.scene.model_copy(update=changed))

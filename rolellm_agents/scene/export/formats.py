"""The formats that a scene can be exported to."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from rolellm_agents.persona import id_of
from rolellm_agents.scene.export.novel import write_novel
from rolellm_agents.scene.export.script import write_script
from rolellm_agents.scene.export.sillytavern_group import write_sillytavern_group
from rolellm_agents.scene.line import SceneLine
from rolellm_agents.scene.loading import LoadedScene
from rolellm_agents.scene.scene import Scene, Seat
from rolellm_agents.scene.witness import witnessed

SceneFormat = Literal["script", "novel", "sillytavern"]
SCENE_FORMATS: Mapping[SceneFormat, Callable[[LoadedScene, Sequence[SceneLine]], str]] = {
    "script": write_script,
    "novel": write_novel,
    "sillytavern": write_sillytavern_group,
}
"""Writers by format: from a scene and its lines to the file's text, as Markdown, HTML or JSON lines."""


def as_seen_by(loaded: LoadedScene, lines: Sequence[SceneLine], seat: str) -> list[SceneLine]:
    """The lines that a seat witnessed, for an export from that seat's view.

    Raises:
        SceneError: there is no such seat.
    """
    return witnessed(lines, loaded.check_seat(seat))


def uncast(scene: Scene) -> LoadedScene:
    """Load a scene for reading only: personas are not looked up, so models cannot play it."""
    seats = [_with_name(seat) for seat in scene.cast]
    return LoadedScene(scene=scene.model_copy(update={"cast": tuple(seats)}), personas={})


def _with_name(seat: Seat) -> Seat:
    id_ = seat.id or id_of(seat.persona or seat.name)
    return seat.model_copy(update={"id": id_, "name": seat.name or id_.replace("-", " ")})

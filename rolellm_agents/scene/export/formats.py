"""What a scene can be written as, by whom it was seen, and whether its cast is needed for it."""

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
"""Each takes the scene and its lines, and gives a file's text; Markdown, HTML, and JSON lines."""


def as_seen_by(loaded: LoadedScene, lines: Sequence[SceneLine], seat: str) -> list[SceneLine]:
    """The lines that a seat witnessed; what is written of them tells nothing else that happened.

    Raises:
        SceneError: there is no such seat.
    """
    return witnessed(lines, loaded.check_seat(seat))


def uncast(scene: Scene) -> LoadedScene:
    """A scene that is only to be read: nobody is looked for, so nobody can play it."""
    seats = [_called(seat) for seat in scene.cast]
    return LoadedScene(scene=scene.model_copy(update={"cast": tuple(seats)}), personas={})


def _called(seat: Seat) -> Seat:
    id_ = seat.id or id_of(seat.persona or seat.name)
    return seat.model_copy(update={"id": id_, "name": seat.name or id_.replace("-", " ")})

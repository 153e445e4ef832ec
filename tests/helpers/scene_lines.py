"""Scenes and lines as plain values, for tests of what is decided from them."""

from collections.abc import Mapping, Sequence
from typing import Any

from rolellm_agents.scene.line import SceneLine
from rolellm_agents.scene.message_kinds import BUILT_IN
from rolellm_agents.scene.scene import Scene
from rolellm_agents.scene.witness import audience_of, present_in
from rolellm_agents.transcript.message import Kind

BAKER_STREET = {"holmes": "Sherlock Holmes", "watson": "Dr. Watson", "lestrade": "Inspector Lestrade"}


def scene_with(names: Mapping[str, str] = BAKER_STREET, /, **told: Any) -> Scene:
    """A scene in which these sit; `told` may give their seats more (by seat), and the scene."""
    cast = [{"id": seat, "name": name, **told.pop(seat, {})} for seat, name in names.items()]
    return Scene.model_validate(
        {"id": "a-room", "title": "A room", "setting": "A room.", "cast": cast, **told}
    )


def line(
    speaker: str,
    text: str = "Well.",
    kind: Kind = "say",
    to: Sequence[str] = (),
    *,
    present: Sequence[str] = tuple(BAKER_STREET),
    **made_by: Any,
) -> SceneLine:
    """One line, witnessed by whom it concerns."""
    audience = [*audience_of(BUILT_IN[kind], speaker, to, present)]
    return SceneLine(id="", speaker=speaker, kind=kind, audience=audience, text=text, made_by=made_by)


def after(
    scene: Scene, lines: list[SceneLine], speaker: str, text: str = "Well.", kind: Kind = "say", **more: Any
) -> list[SceneLine]:
    """The lines with one more, witnessed by those who are there then."""
    present = present_in(scene, lines)
    return [*lines, line(speaker, text, kind, more.pop("to", ()), present=present, **more)]

"""What happens in a scene by itself: how it opens, who comes and goes, what its file has happen."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from rolellm_agents.errors import MessageError
from rolellm_agents.scene.line import SceneLine
from rolellm_agents.scene.loading import LoadedScene
from rolellm_agents.scene.scene import NARRATOR, Event
from rolellm_agents.scene.turns import turns
from rolellm_agents.scene.witness import audience_of, present_in
from rolellm_agents.text.language import Language
from rolellm_agents.transcript.message import Kind

_COMES: dict[Language, str] = {"en": "{name} comes in.", "zh": "{name}来了。"}
_GOES: dict[Language, str] = {"en": "{name} leaves.", "zh": "{name}走了。"}


class ScheduledEvent(NamedTuple):
    """Something that is to happen now."""

    speaker: str
    kind: Kind
    to: tuple[str, ...]
    text: str
    made_by: dict[str, Any]


def due(loaded: LoadedScene, lines: Sequence[SceneLine]) -> list[SceneLine]:
    """The lines of the opening and of the events whose time has come and that have not happened.

    What has happened is told by the lines themselves, so that a scene can go on from any place in its tree.
    """
    there = list(lines)
    for happening in _due(loaded, lines):
        there.append(happened(loaded, there, happening))
    return there[len(lines) :]


def happened(loaded: LoadedScene, lines: Sequence[SceneLine], happening: ScheduledEvent) -> SceneLine:
    """A happening as a line after these, witnessed by whom it concerns."""
    present = present_in(loaded.scene, lines)
    return SceneLine(
        id=f"line-{len(lines) + 1}",
        speaker=happening.speaker,
        kind=happening.kind,
        audience=list(audience_of(happening.kind, happening.speaker, happening.to, present)),
        text=happening.text,
        made_by=happening.made_by,
    )


def check_present(loaded: LoadedScene, seat: str, lines: Sequence[SceneLine]) -> str:
    """The id of a seat, as it was given, if it is there after these lines.

    Raises:
        SceneError: there is no such seat.
        MessageError: it is not there.
    """
    if loaded.check_seat(seat) not in present_in(loaded.scene, lines):
        raise MessageError(f"{loaded.names[seat]} is not there; let them come in first.")
    return seat


def coming(loaded: LoadedScene, seat: str, text: str = "") -> ScheduledEvent:
    """Somebody comes in."""
    words = text.strip() or _COMES[loaded.scene.language].format(name=loaded.names[seat])
    return ScheduledEvent(seat, "join", (), words, {})


def going(loaded: LoadedScene, seat: str, text: str = "") -> ScheduledEvent:
    """Somebody leaves."""
    words = text.strip() or _GOES[loaded.scene.language].format(name=loaded.names[seat])
    return ScheduledEvent(seat, "leave", (), words, {})


def _due(loaded: LoadedScene, lines: Sequence[SceneLine]) -> list[ScheduledEvent]:
    opened = {line["made_by"].get("opening") for line in lines}
    passed = {line["made_by"].get("event") for line in lines}
    over = len(turns(lines))
    opening = [
        ScheduledEvent(line.speaker, line.kind, line.to, line.text, {"opening": number})
        for number, line in enumerate(loaded.scene.opening)
        if number not in opened
    ]
    events = [
        _of_event(loaded, event)._replace(made_by={"event": number})
        for number, event in enumerate(loaded.scene.events)
        if number not in passed and event.after <= over
    ]
    return [*opening, *events]


def _of_event(loaded: LoadedScene, event: Event) -> ScheduledEvent:
    if event.join:
        return coming(loaded, event.join, event.text)
    if event.leave:
        return going(loaded, event.leave, event.text)
    return ScheduledEvent(NARRATOR, "narrate", (), event.text.strip(), {})

"""Lines that no turn produces: the opening, entrances and exits, and scheduled events."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from rolellm_agents.errors import MessageError
from rolellm_agents.scene.line import SceneLine
from rolellm_agents.scene.loading import LoadedScene
from rolellm_agents.scene.message_kinds import kind_of
from rolellm_agents.scene.scene import NARRATOR, Event
from rolellm_agents.scene.turns import turns
from rolellm_agents.scene.witness import audience_of, present_in
from rolellm_agents.text.language import Language
from rolellm_agents.transcript.message import Kind

_COMES: dict[Language, str] = {"en": "{name} comes in.", "zh": "{name}来了。"}
_GOES: dict[Language, str] = {"en": "{name} leaves.", "zh": "{name}走了。"}


class ScheduledEvent(NamedTuple):
    """An opening line or an event that is due."""

    speaker: str
    kind: Kind
    to: tuple[str, ...]
    text: str
    made_by: dict[str, Any]


def due_lines(loaded: LoadedScene, lines: Sequence[SceneLine]) -> list[SceneLine]:
    """The lines of the opening and of the events that are due and are not among the lines yet.

    Nothing but the lines decides this, so a scene can continue from any message of its tree.
    """
    extended = list(lines)
    for event in _due_events(loaded, lines):
        extended.append(event_line(loaded, extended, event))
    return extended[len(lines) :]


def event_line(loaded: LoadedScene, lines: Sequence[SceneLine], event: ScheduledEvent) -> SceneLine:
    """The line that an event adds after the given lines, with its audience."""
    present = present_in(loaded.scene, lines)
    kind = kind_of(event.kind, loaded.scene.turn_kinds)
    return SceneLine(
        id=f"line-{len(lines) + 1}",
        speaker=event.speaker,
        kind=event.kind,
        audience=list(audience_of(kind, event.speaker, event.to, present)),
        text=event.text,
        made_by=event.made_by,
    )


def check_present(loaded: LoadedScene, seat: str, lines: Sequence[SceneLine]) -> str:
    """Return the id of a seat if it is present after the lines.

    Raises:
        SceneError: there is no such seat.
        MessageError: the seat is not present.
    """
    if loaded.check_seat(seat) not in present_in(loaded.scene, lines):
        raise MessageError(f"{loaded.names[seat]} is not present; let them join first.")
    return seat


def join_event(loaded: LoadedScene, seat: str, text: str = "") -> ScheduledEvent:
    """The event of a seat's entrance; `text` replaces the default sentence."""
    words = text.strip() or _COMES[loaded.scene.language].format(name=loaded.names[seat])
    return ScheduledEvent(seat, "join", (), words, {})


def leave_event(loaded: LoadedScene, seat: str, text: str = "") -> ScheduledEvent:
    """The event of a seat's exit; `text` replaces the default sentence."""
    words = text.strip() or _GOES[loaded.scene.language].format(name=loaded.names[seat])
    return ScheduledEvent(seat, "leave", (), words, {})


def _due_events(loaded: LoadedScene, lines: Sequence[SceneLine]) -> list[ScheduledEvent]:
    opened = {line["made_by"].get("opening") for line in lines}
    past = {line["made_by"].get("event") for line in lines}
    turn = len(turns(lines))
    opening = [
        ScheduledEvent(line.speaker, line.kind, line.to, line.text, {"opening": number})
        for number, line in enumerate(loaded.scene.opening)
        if number not in opened
    ]
    events = [
        _of_event(loaded, event)._replace(made_by={"event": number})
        for number, event in enumerate(loaded.scene.events)
        if number not in past and event.after <= turn
    ]
    return [*opening, *events]


def _of_event(loaded: LoadedScene, event: Event) -> ScheduledEvent:
    if event.join:
        return join_event(loaded, event.join, event.text)
    if event.leave:
        return leave_event(loaded, event.leave, event.text)
    return ScheduledEvent(NARRATOR, "narrate", (), event.text.strip(), {})

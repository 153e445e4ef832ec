"""Who is there, who witnesses what, and what each has witnessed.

This is the one place that decides what a character can know of a scene. All else is built from what
`witnessed` gives.
"""

from collections.abc import Iterable, Sequence

from rolellm_agents.scene.line import SceneLine
from rolellm_agents.scene.scene import NARRATOR, Scene
from rolellm_agents.transcript.message import Kind


def present_in(scene: Scene, lines: Iterable[SceneLine]) -> tuple[str, ...]:
    """The seats that are there after these lines, in the order of the cast."""
    there = {seat.id for seat in scene.cast if seat.present}
    for line in lines:
        if line["kind"] == "join":
            there.add(line["speaker"])
        elif line["kind"] == "leave":
            there.discard(line["speaker"])
    return tuple(seat.id for seat in scene.cast if seat.id in there)


def audience_of(kind: Kind, speaker: str, to: Sequence[str], present: Sequence[str]) -> tuple[str, ...]:
    """The seats that witness something.

    Args:
        kind: what it is. A thought reaches nobody else; a whisper those of `to` who are there; somebody
            who leaves is seen to go by all who were there, somebody who comes by all and themselves.
        speaker: a seat, or `NARRATOR`, who is no witness.
        to: the seats it is meant for.
        present: the seats that are there.
    """
    if kind == "think":
        heard = {speaker}
    elif kind == "whisper":
        heard = {speaker, *(seat for seat in to if seat in present)}
    else:
        heard = {speaker, *present}
    heard.discard(NARRATOR)
    return tuple(sorted(heard))


def witnessed(lines: Sequence[SceneLine], seat: str) -> list[SceneLine]:
    """What a seat has seen and heard, in order."""
    return [line for line in lines if seat in line["audience"]]

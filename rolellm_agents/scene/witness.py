"""Which seats are present, and which seats witness a line.

Only this module decides what a character can know of a scene: every view is built from `witnessed`.
"""

from collections.abc import Iterable, Sequence

from rolellm_agents.scene.line import SceneLine
from rolellm_agents.scene.message_kinds import MessageKind
from rolellm_agents.scene.scene import NARRATOR, Scene


def present_in(scene: Scene, lines: Iterable[SceneLine]) -> tuple[str, ...]:
    """The seats that are present after the lines, in the order of the cast."""
    there = {seat.id for seat in scene.cast if seat.present}
    for line in lines:
        if line["kind"] == "join":
            there.add(line["speaker"])
        elif line["kind"] == "leave":
            there.discard(line["speaker"])
    return tuple([seat.id for seat in scene.cast if seat.id in there])


def audience_of(
    kind: MessageKind, speaker: str, to: Sequence[str], present: Sequence[str]
) -> tuple[str, ...]:
    """The seats that witness a line, sorted.

    Its kind decides: only the speaker witnesses a thought; the speaker and the addressees who are present,
    a whisper; the speaker and all who are present, speech.

    Args:
        kind: the message kind.
        speaker: a seat; or `NARRATOR`, who is not a witness.
        to: the addressees, of a kind that only they perceive.
        present: the seats that are present before the line.
    """
    match kind.perceived_by:
        case "speaker":
            audience = {speaker}
        case "addressees":
            audience = {speaker, *(seat for seat in to if seat in present)}
        case "everyone":
            audience = {speaker, *present}
    audience.discard(NARRATOR)
    return tuple(sorted(audience))


def witnessed(lines: Sequence[SceneLine], seat: str) -> list[SceneLine]:
    """The lines that a seat witnessed, in order."""
    return [line for line in lines if seat in line["audience"]]

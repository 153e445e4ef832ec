"""What commands of a scene need to find, to choose and to tell."""

from collections.abc import Iterator, Sequence

from rolellm_agents.errors import MessageError
from rolellm_agents.scene import NARRATOR
from rolellm_agents.scene.witness import witnessed
from rolellm_agents.text import one_line
from rolellm_agents.transcript import Message
from rolellm_graphs.scene.speaking import addressee_names
from rolellm_graphs.scene.stage import Stage
from rolellm_graphs.scene.state import PersonsLine
from rolellm_tui.slash.moves import choose_beside
from rolellm_tui.slash.scene_commands import SceneCommand, typed_in_scene

NARRATOR_NAME = "Narrator"
_NAME_WIDTH = 40


def seat_name(stage: Stage, seat: str) -> str:
    """The name of a seat or of the narrator."""
    return NARRATOR_NAME if seat == NARRATOR else one_line(stage.loaded.names.get(seat, seat), _NAME_WIDTH)


def writers(stage: Stage) -> list[str]:
    """The seats as which the user can write without taking another: their own, then the narrator."""
    return [*(seat for seat in stage.persons if seat != NARRATOR), NARRATOR]


def understood(stage: Stage, seat: str, text: str) -> SceneCommand | PersonsLine:
    """What a text means that is typed by the one who plays a seat.

    Raises:
        MessageError: it is invalid.
    """
    loaded, narrates = stage.loaded, seat == NARRATOR
    names = {**loaded.names, NARRATOR: NARRATOR_NAME}
    addressees = {} if narrates else addressee_names(loaded, seat, stage.lines)
    parsed = typed_in_scene(text, names, addressees, loaded.scene.turn_kinds)
    if isinstance(parsed, SceneCommand):
        return parsed
    if narrates and parsed.kind not in ("say", "narrate"):
        raise MessageError("The narrator only narrates; /as NAME lets you speak as another.")
    if narrates or parsed.kind == "narrate":
        return PersonsLine(seat=NARRATOR, kind="narrate", to=[], text=parsed.text)
    return PersonsLine(seat=seat, kind=parsed.kind, to=[*parsed.to], text=parsed.text)


def check_not_over(stage: Stage) -> None:
    """Check that the scene goes on.

    Raises:
        MessageError: the scene is over.
    """
    if stage.ended:
        raise MessageError("The scene is over; /undo goes back by a turn.")


def other_speaker(stage: Stage, waited_for: str | None) -> str:
    """Who speaks in place of a person: the next of the cast who is there, preferably played by a model.

    Args:
        stage: the scene.
        waited_for: the person's seat; None if it is nobody's turn.

    Raises:
        MessageError: it is nobody's turn, or nobody else is there.
    """
    if waited_for is None:
        raise MessageError("There is no turn to skip.")
    cast = list(stage.loaded.seats)
    others = [*cast[cast.index(waited_for) + 1 :], *cast[: cast.index(waited_for)]]
    present = [other for other in others if other in stage.present]
    by_models = [other for other in present if other not in stage.persons]
    if not present:
        raise MessageError("No other character can speak.")
    return (by_models or present)[0]


def last_by_model(stage: Stage, viewer: str | None = None) -> Message:
    """The last line of a model.

    Args:
        stage: the scene.
        viewer: the seat that must have witnessed the line; None for any line.

    Raises:
        MessageError: no model has spoken yet.
    """
    messages = stage.messages if viewer is None else stage.witnessed(viewer)
    for message in reversed(messages):
        if "model" in message.made_by:
            return message
    raise MessageError("No model has spoken yet; /step plays a turn.")


def choose_version(stage: Stage, command: SceneCommand) -> str:
    """Go to another version of the last model's line; a sentence that says which one it is.

    Raises:
        MessageError: there is no such version.
    """
    return choose_beside(stage, last_by_model(stage), command.text, command.number)


def seen_by(stage: Stage, viewer: str | None) -> Sequence[Message]:
    """The messages that a seat witnessed; all if none is named."""
    return stage.messages if viewer is None else stage.witnessed(viewer)


def who_lines(stage: Stage) -> Iterator[str]:
    """One line for each seat: whether it is there, who plays it, and how much it knows."""
    lines, present = stage.lines, stage.present
    for seat in stage.loaded.seats:
        there = "is there" if seat in present else "is not there"
        player = "you" if seat in stage.persons else stage.ensemble.voices[seat].model_name
        known = f"; lines known: {len(witnessed(lines, seat)):,} of {len(lines):,}" if lines else ""
        yield f"{seat_name(stage, seat)} ({seat}) {there}, is played by {player}{known}."
    if NARRATOR in stage.persons:
        yield "You are the narrator."


def director_line(stage: Stage) -> str:
    """A sentence that says who decides the next speaker, and how far the scene is."""
    scene = stage.loaded.scene
    return (
        f"The director is {scene.director.kind}, with seed {stage.seed}; "
        f"turns played: {stage.turns:,} of {scene.stop.turns:,}."
    )

"""The keys of a scene, and when each of them is offered."""

from textual.binding import Binding, BindingType

SCENE_KEYS: list[BindingType] = [
    Binding("escape", "stop", "Stop", id="scene.stop", tooltip="Stop the turn; what was said is kept."),
    Binding("escape", "everything", "All", id="scene.everything", tooltip="Show everything again."),
    Binding("space,f5", "play", "Play", id="scene.play", tooltip="Let turn follow turn, or pause."),
    Binding("s", "step", "Step", id="scene.step", tooltip="Let one turn be played."),
    Binding("f6", "step", "Step", id="scene.step-too", tooltip="Let one turn be played.", priority=True),
    Binding("n", "next_speaker", "Next", id="scene.next", tooltip="Choose who speaks next."),
    Binding("k", "cast", "Cast", id="scene.cast", tooltip="Who is there, and who knows what."),
    Binding("f7", "cast", "Cast", id="scene.cast-too", tooltip="Who knows what.", priority=True),
    Binding("ctrl+r", "again", "Again", id="scene.again", tooltip="Have the last turn said anew."),
    Binding(
        "alt+left", "swipe(-1)", "Earlier", id="scene.earlier", tooltip="What was said before.", show=False
    ),
    Binding("alt+right", "swipe(1)", "Later", id="scene.later", tooltip="What was said later.", show=False),
    Binding("ctrl+z", "undo", "Undo", id="scene.undo", tooltip="Take the last thing back.", priority=True),
    Binding("ctrl+y", "redo", "Redo", id="scene.redo", tooltip="Do it again.", priority=True, show=False),
    Binding(
        "ctrl+b",
        "branch",
        "Branch",
        id="scene.branch",
        tooltip="Go on from here in a new branch.",
        show=False,
    ),
    Binding("ctrl+t,f8", "tree", "Tree", id="scene.tree", tooltip="All branches of this scene."),
    Binding("ctrl+o", "why", "Why", id="scene.why", tooltip="Why was that said?"),
    Binding("f3", "eyes", "Eyes", id="scene.eyes", tooltip="See only what your own seat sees, or all."),
    Binding("f4", "speak_as", "As", id="scene.as", tooltip="Speak as another: your seats, the narrator."),
    Binding(
        "plus,equals_sign", "pause(1)", "Slower", id="scene.slower", tooltip="Longer pauses.", show=False
    ),
    Binding("minus", "pause(-1)", "Faster", id="scene.faster", tooltip="Shorter pauses.", show=False),
    Binding("x", "export", "Export", id="scene.export", tooltip="Write the scene as a file.", show=False),
    Binding("ctrl+n,f9", "new", "New", id="scene.new", tooltip="Begin this scene anew.", show=False),
    Binding("ctrl+l", "library", "Library", id="scene.library", tooltip="Back to the library."),
]
_QUIET_ONLY = frozenset(
    {"step", "next_speaker", "again", "swipe", "undo", "redo", "branch", "tree", "export"}
)
"""What would get into the way of a turn."""


def is_offered(action: str, *, busy: bool, playing: bool, sees_all: bool, has_own_seat: bool) -> bool:
    """Whether an action has a use now.

    Args:
        action: its name.
        busy: whether a turn is on its way.
        playing: whether turn follows turn.
        sees_all: whether everything is shown.
        has_own_seat: whether a person sits in a seat.
    """
    match action:
        case "stop":
            return busy or playing
        case "everything":
            return not (busy or playing or sees_all)
        case "eyes" | "speak_as":
            return has_own_seat
        case _:
            return not (busy and action in _QUIET_ONLY)

"""Key bindings of a scene, and when they are enabled."""

from textual.binding import Binding, BindingType

SCENE_KEYS: list[BindingType] = [
    Binding("escape", "stop", "Stop", id="scene.stop", tooltip="Stop the turn and keep its text."),
    Binding("escape", "everything", "All", id="scene.everything", tooltip="Show all lines."),
    Binding("space,f5", "play", "Play", id="scene.play", tooltip="Play or pause."),
    Binding("s", "step", "Step", id="scene.step", tooltip="Play one turn."),
    Binding("f6", "step", "Step", id="scene.step-too", tooltip="Play one turn.", priority=True),
    Binding("n", "next_speaker", "Next", id="scene.next", tooltip="Choose who speaks next."),
    Binding("k", "cast", "Cast", id="scene.cast", tooltip="Cast, and what each of them knows."),
    Binding("f7", "cast", "Cast", id="scene.cast-too", tooltip="What each of them knows.", priority=True),
    Binding("ctrl+r", "again", "Again", id="scene.again", tooltip="Play the last turn again."),
    Binding(
        "alt+left,ctrl+left",
        "swipe(-1)",
        "Earlier",
        id="scene.earlier",
        tooltip="Previous version.",
        show=False,
    ),
    Binding(
        "alt+right,ctrl+right", "swipe(1)", "Later", id="scene.later", tooltip="Next version.", show=False
    ),
    Binding("ctrl+z", "undo", "Undo", id="scene.undo", tooltip="Undo.", priority=True),
    Binding("ctrl+y", "redo", "Redo", id="scene.redo", tooltip="Redo.", priority=True, show=False),
    Binding(
        "ctrl+b",
        "branch",
        "Branch",
        id="scene.branch",
        tooltip="Start a new branch here.",
        show=False,
    ),
    Binding("ctrl+t,f8", "tree", "Tree", id="scene.tree", tooltip="All branches of this scene."),
    Binding("ctrl+o", "why", "Why", id="scene.why", tooltip="Why this line?"),
    Binding(
        "f3", "eyes", "Eyes", id="scene.eyes", tooltip="Show only what your seat witnessed, or all lines."
    ),
    Binding("f4", "speak_as", "As", id="scene.as", tooltip="Speak as another seat or the narrator."),
    Binding(
        "plus,equals_sign", "pause(1)", "Slower", id="scene.slower", tooltip="Longer pauses.", show=False
    ),
    Binding("minus", "pause(-1)", "Faster", id="scene.faster", tooltip="Shorter pauses.", show=False),
    Binding("x", "export", "Export", id="scene.export", tooltip="Export the scene.", show=False),
    Binding("ctrl+n,f9", "new", "New", id="scene.new", tooltip="Restart the scene.", show=False),
    Binding("ctrl+l", "library", "Library", id="scene.library", tooltip="Back to the library."),
]
_QUIET_ONLY = frozenset(
    {"step", "next_speaker", "again", "swipe", "undo", "redo", "branch", "tree", "export"}
)
"""Actions that are disabled while a turn is running."""


def is_offered(action: str, *, busy: bool, playing: bool, sees_all: bool, has_own_seat: bool) -> bool:
    """Whether an action is enabled.

    Args:
        action: the name of the action.
        busy: whether a turn is running.
        playing: whether turns follow automatically.
        sees_all: whether all lines are shown.
        has_own_seat: whether the user plays a seat.
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

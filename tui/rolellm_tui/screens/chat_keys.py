"""The keys of the chat, and when each of them is offered."""

from textual.binding import Binding, BindingType

CHAT_KEYS: list[BindingType] = [
    Binding("escape", "stop", "Stop", id="stop", tooltip="Stop the answer; it keeps its words."),
    Binding("ctrl+r", "again", "Again", id="again", tooltip="Have another answer."),
    Binding("ctrl+g", "go_on", "More", id="go-on", tooltip="Let the answer go on."),
    Binding("alt+left", "swipe(-1)", "Earlier", id="earlier", tooltip="The answer before.", show=False),
    Binding("alt+right", "swipe(1)", "Later", id="later", tooltip="The next answer.", show=False),
    Binding("ctrl+z", "undo", "Undo", id="undo", tooltip="Take the last thing back.", priority=True),
    Binding("ctrl+y", "redo", "Redo", id="redo", tooltip="Do it again.", priority=True, show=False),
    Binding("ctrl+t,f8", "tree", "Tree", id="tree", tooltip="All branches of this conversation."),
    Binding("ctrl+o", "why", "Why", id="why", tooltip="Why did it say that?"),
    Binding(
        "ctrl+d",
        "compare",
        "Compare",
        id="compare",
        tooltip="Several answers side by side.",
        priority=True,
    ),
    Binding(
        "f6", "write_for_me", "Write", id="write", tooltip="Let the model write your line.", priority=True
    ),
    Binding("f7", "note", "Note", id="note", tooltip="The author's note.", show=False, priority=True),
    Binding("ctrl+n,f9", "new", "New", id="new", tooltip="Begin a new conversation."),
    Binding("ctrl+l", "library", "Library", id="library", tooltip="Talk with somebody else."),
]
_QUIET_ONLY = frozenset({"again", "go_on", "swipe", "undo", "redo", "tree", "compare", "write_for_me"})
"""What would get into the way of an answer."""


def is_offered(action: str, *, answering: bool) -> bool:
    """Whether an action has a use: Stop while there is something to stop, most others while not."""
    return answering if action == "stop" else not (answering and action in _QUIET_ONLY)

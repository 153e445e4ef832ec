"""Key bindings of the chat, and when they are enabled."""

from textual.binding import Binding, BindingType

CHAT_KEYS: list[BindingType] = [
    Binding("escape", "stop", "Stop", id="stop", tooltip="Stop the answer and keep its text."),
    Binding("ctrl+c", "stop", "Stop", id="stop-too", show=False, priority=True),
    Binding("ctrl+r", "again", "Again", id="again", tooltip="Generate another answer."),
    Binding("ctrl+g", "go_on", "More", id="go-on", tooltip="Continue the answer."),
    Binding("alt+up,ctrl+up", "select", "Messages", id="messages", tooltip="Select a message.", show=False),
    Binding(
        "tab",
        "app.focus_next",
        "Next",
        id="next",
        tooltip="To the next message, and to writing.",
        show=False,
    ),
    Binding(
        "shift+tab",
        "app.focus_previous",
        "Previous",
        id="previous",
        tooltip="To the message above.",
        show=False,
    ),
    Binding("pageup", "page(-1)", "Page up", id="page-up", tooltip="Scroll up.", show=False, priority=True),
    Binding(
        "pagedown",
        "page(1)",
        "Page down",
        id="page-down",
        tooltip="Scroll down.",
        show=False,
        priority=True,
    ),
    Binding(
        "ctrl+home",
        "jump(-1)",
        "Start",
        id="jump-start",
        tooltip="To the first message.",
        show=False,
        priority=True,
    ),
    Binding(
        "ctrl+end",
        "jump(1)",
        "End",
        id="jump-end",
        tooltip="To the last message.",
        show=False,
        priority=True,
    ),
    Binding("ctrl+f", "find", "Find", id="find", tooltip="Find in this conversation.", priority=True),
    Binding("alt+left", "swipe(-1)", "Earlier", id="earlier", tooltip="Previous answer.", show=False),
    Binding("alt+right", "swipe(1)", "Later", id="later", tooltip="Next answer.", show=False),
    Binding("ctrl+z", "undo", "Undo", id="undo", tooltip="Undo.", priority=True),
    Binding("ctrl+y", "redo", "Redo", id="redo", tooltip="Redo.", priority=True, show=False),
    Binding(
        "ctrl+e",
        "edit",
        "Edit",
        id="edit",
        tooltip="Edit the selected message, or your last line.",
        priority=True,
    ),
    Binding("ctrl+t,f8", "tree", "Tree", id="tree", tooltip="All branches of this conversation."),
    Binding("ctrl+o", "why", "Why", id="why", tooltip="Why the selected answer, or the last one?"),
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
    Binding("f5", "export", "Export", id="export", tooltip="Write the conversation to a file.", show=False),
    Binding("ctrl+n,f9", "new", "New", id="new", tooltip="Start a new conversation."),
    Binding(
        "f11", "edit_persona", "Persona", id="edit-persona", tooltip="Edit the persona's file.", show=False
    ),
    Binding("ctrl+l", "library", "Library", id="library", tooltip="Back to the library."),
]
_QUIET_ONLY = frozenset(
    {"again", "go_on", "edit", "swipe", "undo", "redo", "tree", "compare", "write_for_me", "edit_persona"}
)
"""Actions that are disabled while an answer is generated."""


def is_offered(action: str, *, answering: bool) -> bool:
    """Whether an action is enabled: Stop while an answer is generated, most others only otherwise."""
    return answering if action == "stop" else not (answering and action in _QUIET_ONLY)

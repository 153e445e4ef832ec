"""The question before something is deleted."""

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from rolellm_agents.transcript import DeletionExtent
from rolellm_tui.widgets.common.deletions import extent_of

DELETED = "Deleted. Ctrl+Z takes it back; so does the bin, for thirty days."
"""What chats and scenes tell after a deletion."""
_TO_THE_BIN = "It stays in the bin for thirty days."
_FOREVER = "This cannot be undone. Backups and exported files keep what they have."


class DeleteScreen(ModalScreen[bool]):
    """Asks whether to delete something. Returns whether the user agreed."""

    CSS_PATH = "delete.tcss"
    BINDINGS = [
        Binding("y", "agree", "Delete", id="delete.agree", tooltip="Delete it."),
        Binding("escape,n", "leave", "Keep", id="delete.leave", tooltip="Keep it."),
    ]

    def __init__(self, what: str, extent: DeletionExtent, *, forever: bool = False) -> None:
        """Create the dialog.

        Args:
            what: what is deleted.
            extent: how much it is.
            forever: whether it does not go into the bin.
        """
        super().__init__()
        self._question = f"Delete {what}{' forever' if forever else ''}?"
        self._extent = extent_of(extent)
        self._consequence = _FOREVER if forever else _TO_THE_BIN

    def compose(self) -> ComposeResult:
        """Compose the dialog."""
        with Vertical(id="delete"):
            yield Static(self._question, id="delete-question", markup=False)
            yield Static(f"{self._extent}. {self._consequence}", id="delete-extent", markup=False)
            yield Static("y delete · Escape keep", id="delete-keys", markup=False)

    def action_agree(self) -> None:
        """Agree."""
        self.dismiss(True)

    def action_leave(self) -> None:
        """Keep it."""
        self.dismiss(False)

"""A dialog that asks for a lorebook to edit: an imported one, or a file."""

import asyncio

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option
from textual.worker import Worker

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import RoleLLMError
from rolellm_agents.persona.editing.lorebook_document import LorebookDocument, open_lorebook
from rolellm_agents.text import plain
from rolellm_tui.widgets.common.failures import failure_text
from rolellm_tui.widgets.common.path_input import PathInput
from rolellm_tui.widgets.common.status_line import Complaint

_HELP = "Path of a JSON file; Tab completes it. A name that does not exist yet begins a new lorebook."
_WAYS = 8
"""Maximum number of displayed completions."""


class PickLorebookScreen(ModalScreen[LorebookDocument | None]):
    """Asks for a lorebook. Returns it opened, or None when cancelled."""

    CSS_PATH = "pick_lorebook.tcss"
    AUTO_FOCUS = "#path"
    BINDINGS = [
        Binding("escape", "leave", "Close", id="pick-lorebook.close", tooltip="Cancel."),
    ]

    def compose(self) -> ComposeResult:
        """Compose the list of imported lorebooks and the path."""
        with Vertical(id="pick-lorebook"):
            yield Static("Edit a lorebook", classes="title", markup=False)
            yield OptionList(id="imported", markup=False)
            yield PathInput(placeholder=str(user_paths().lorebooks / "my-world.json"), id="path")
            yield Static(_HELP, id="help", markup=False)
            yield Complaint(id="complaint")
            yield Static("Enter open · ↑ imported ones · Esc cancel", classes="keys", markup=False)

    def on_mount(self) -> None:
        """List the imported lorebooks."""
        listed = self.query_one("#imported", OptionList)
        listed.display = False
        self._list()

    @work(group="list", exit_on_error=False)
    async def _list(self) -> None:
        files = await asyncio.to_thread(lambda: sorted(user_paths().lorebooks.glob("*.json")))
        listed = self.query_one("#imported", OptionList)
        listed.set_options(Option(plain(file.stem), id=str(file)) for file in files)
        listed.display = bool(files)

    @on(PathInput.Ways)
    def _show_ways(self, event: PathInput.Ways) -> None:
        hidden = len(event.names) - _WAYS
        names = [*event.names[:_WAYS], *([f"and {hidden} more"] if hidden > 0 else [])]
        self.query_one("#help", Static).update(plain("   ".join(names)) or _HELP)

    def key_up(self) -> None:
        """Go to the imported lorebooks."""
        listed = self.query_one("#imported", OptionList)
        if listed.display:
            listed.focus()

    @on(PathInput.JsonPasted)
    def _json_pasted(self) -> None:
        self._complain("Save the JSON as a file first, or import it with F4 in the library.")

    @on(OptionList.OptionSelected)
    def _picked(self, event: OptionList.OptionSelected) -> None:
        self._open(event.option_id or "")

    @on(Input.Submitted, "#path")
    def _entered(self, event: Input.Submitted) -> None:
        if event.value.strip():
            self._open(event.value.strip())
        else:
            self._complain("Enter a file name first.")

    @work(group="open", exclusive=True, exit_on_error=False)
    async def _open(self, reference: str) -> None:
        try:
            self.dismiss(await asyncio.to_thread(open_lorebook, reference))
        except RoleLLMError as error:
            self._complain(error)

    def action_leave(self) -> None:
        """Cancel."""
        self.dismiss(None)

    def _complain(self, error: RoleLLMError | str) -> None:
        self.query_one(Complaint).complain(error)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report errors of workers instead of closing the dialog."""
        if failure := failure_text(event):
            self._complain(failure)

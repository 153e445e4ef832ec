"""A dialog that imports a preset from a file."""

import asyncio

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static
from textual.worker import Worker

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.models.presets.importing import AddedPreset, add_preset
from rolellm_agents.text import plain
from rolellm_tui.widgets.common.failures import failure_text
from rolellm_tui.widgets.common.path_input import PathInput
from rolellm_tui.widgets.common.status_line import Complaint
from rolellm_tui.widgets.library.incoming import path_in

_HELP = "A preset of SillyTavern (JSON) or of rolellm (YAML); Tab completes the path."
_WAYS = 8
"""Maximum number of displayed completions."""


class ImportPresetScreen(ModalScreen[str | None]):
    """Asks for a file, and tells what came over. Returns the name of the new preset, or None."""

    CSS_PATH = "import_preset.tcss"
    AUTO_FOCUS = "#path"
    BINDINGS = [
        Binding("escape", "leave", "Close", id="import-preset.close", tooltip="Close."),
    ]

    def __init__(self) -> None:
        """Ask for a file."""
        super().__init__()
        self._added: str | None = None

    def compose(self) -> ComposeResult:
        """Compose the path, and room for what came over."""
        with Vertical(classes="window"):
            yield Static("Import a sampler preset", classes="title", markup=False)
            yield PathInput(placeholder="~/Downloads/Storyteller.json", id="path")
            yield Static(_HELP, id="help", markup=False)
            yield Complaint(id="complaint")
            yield Static("Enter import · Esc close", classes="keys", markup=False)

    @on(PathInput.Ways)
    def _show_ways(self, event: PathInput.Ways) -> None:
        hidden = len(event.names) - _WAYS
        names = [*event.names[:_WAYS], *([f"and {hidden} more"] if hidden > 0 else [])]
        self.query_one("#help", Static).update(plain("   ".join(names)) or _HELP)

    @on(PathInput.JsonPasted)
    def _json_pasted(self) -> None:
        self._complaint.complain("Save the JSON as a file first; the preset gets the file's name.")

    @on(Input.Submitted, "#path")
    def _entered(self, event: Input.Submitted) -> None:
        if event.value.strip():
            self._bring_in(event.value.strip())
        else:
            self._complaint.complain("Enter a file name first.")

    @work(group="import", exclusive=True, exit_on_error=False)
    async def _bring_in(self, typed: str) -> None:
        try:
            added = await asyncio.to_thread(lambda: add_preset(path_in(typed)))
        except RoleLLMError as error:
            self._complaint.complain(error)
            return
        self._added = added.found.id
        self.query_one("#path", Input).value = ""
        self._complaint.show_message(_told(added))

    def action_leave(self) -> None:
        """Close the dialog."""
        self.dismiss(self._added)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report errors of workers instead of closing the dialog."""
        if failure := failure_text(event):
            self._complaint.complain(failure)

    @property
    def _complaint(self) -> Complaint:
        return self.query_one(Complaint)


def _told(added: AddedPreset) -> str:
    """What came over of a preset, and what did not."""
    preset = added.found.preset
    names = ", ".join(preset.values) or "no value"
    return "\n".join([f"Imported {preset.name}: {names}.", *added.notes])

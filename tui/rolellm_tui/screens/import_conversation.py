"""Import conversations from a file."""

import asyncio
from collections.abc import Sequence

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static
from textual.worker import Worker

from rolellm_agents.chat_files import ImportedConversation, import_chat_file
from rolellm_agents.errors import RoleLLMError
from rolellm_agents.transcript import Transcript
from rolellm_tui.widgets.common.after_typing import after_typing
from rolellm_tui.widgets.common.failures import failure_text
from rolellm_tui.widgets.common.path_suggester import PathSuggester
from rolellm_tui.widgets.common.status_line import Complaint
from rolellm_tui.widgets.library.incoming import path_in

_HELP = "rolellm's JSON, a SillyTavern chat, or ShareGPT; → completes the name."
_WITH = "Persona, if the file does not name it"


class ImportConversationScreen(ModalScreen[Sequence[ImportedConversation]]):
    """Asks for a file. Returns the imported conversations."""

    CSS_PATH = "import_conversation.tcss"
    AUTO_FOCUS = "#path"
    BINDINGS = [
        Binding("enter", "bring_in", "Import", id="import-chat.do", tooltip="Import.", priority=True),
        Binding("escape", "leave", "Close", id="import-chat.close", tooltip="Cancel."),
    ]

    def __init__(self, transcript: Transcript) -> None:
        """Ask for a file to import into `transcript`."""
        super().__init__()
        self._transcript = transcript
        self._busy = False

    def compose(self) -> ComposeResult:
        """Compose the file, the persona and the status line."""
        with Vertical(id="import"):
            yield Static("Import conversations", classes="title", markup=False)
            suggester = PathSuggester((".json", ".jsonl"))
            yield Input(placeholder="~/Downloads/chat.jsonl", suggester=suggester, id="path")
            yield Static(_HELP, classes="help", markup=False)
            yield Input(placeholder=_WITH, id="persona")
            yield Complaint(id="complaint")
            yield Static("Enter import · Esc cancel", classes="keys", markup=False)

    @on(Input.Changed)
    def _typed(self) -> None:
        self._complaint.show_message("")

    def action_bring_in(self) -> None:
        """Import the file."""
        after_typing(self, self._bring_in)

    @work(group="import", exclusive=True, exit_on_error=False)
    async def _bring_in(self) -> None:
        typed = self.query_one("#path", Input).value.strip()
        persona = self.query_one("#persona", Input).value.strip()
        if self._busy:
            return
        if not typed:
            self._complaint.complain("Enter a file name first.")
            return
        self._busy = True
        try:
            path = await asyncio.to_thread(path_in, typed)
            imported = await asyncio.to_thread(import_chat_file, path, self._transcript, persona or None)
        except RoleLLMError as error:
            self._complaint.complain(error)
        else:
            self.dismiss(imported)
        finally:
            self._busy = False

    def action_leave(self) -> None:
        """Cancel, after a running import has finished."""
        if not self._busy:
            self.dismiss(())

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report errors of workers instead of ending the app."""
        if failure := failure_text(event):
            self._complaint.complain(failure)

    @property
    def _complaint(self) -> Complaint:
        return self.query_one(Complaint)

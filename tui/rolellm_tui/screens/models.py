"""The models: choose one, or download a recommended one."""

import asyncio
import threading
import time
from typing import Final

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, ProgressBar, Static
from textual.widgets.option_list import Option
from textual.worker import Worker, WorkerState

from rolellm_agents.config.settings import load_settings, write_settings
from rolellm_agents.errors import RoleLLMError
from rolellm_agents.models.inventory import KnownModel, known_models, removed_model
from rolellm_agents.models.pulling import PullStopped, planned_pull, pulled
from rolellm_tui.screens.settings import Override
from rolellm_tui.widgets.common.drawn_lines import MUTED
from rolellm_tui.widgets.common.failures import failure_text
from rolellm_tui.widgets.common.status_line import Complaint

_KINDS: Final = {
    "yours": "your models.toml",
    "embedded": "bundled",
    "downloaded": "downloaded",
    "running": "running here",
    "recommended": "to download",
}
_KEYS: Final = "Enter use, or download · d remove · Esc close"
_FRAME: Final = 0.1
"""Minimum seconds between two steps of the progress bar."""


class ModelsScreen(ModalScreen[bool]):
    """Sets the default model. Returns whether it changed."""

    CSS_PATH = "models.tcss"
    AUTO_FOCUS = "#models"
    BINDINGS = [
        Binding("d,delete", "remove", "Remove", id="models.remove", tooltip="Delete a downloaded model."),
        Binding("escape", "leave", "Back", id="models.leave", tooltip="Back, or stop the download."),
    ]

    def __init__(self, given: Override | None = None) -> None:
        """Create the dialog.

        Args:
            given: the model that an option of the command line sets, which the list cannot change.
        """
        super().__init__()
        self._given = given
        self._listed: list[KnownModel] = []
        self._to_remove = ""
        self._stop = threading.Event()
        self._download: Worker[None] | None = None

    def compose(self) -> ComposeResult:
        """Compose the dialog."""
        with Vertical(classes="window"):
            yield Static("Models", classes="title", markup=False)
            yield OptionList(id="models", markup=False)
            bar = ProgressBar(id="progress")
            bar.display = False
            yield bar
            yield Complaint(id="complaint")
            yield Static(_KEYS, classes="keys", markup=False)

    def on_mount(self) -> None:
        """Load the list."""
        self._load()

    @work(group="list", exclusive=True, exit_on_error=False)
    async def _load(self) -> None:
        found = await asyncio.to_thread(known_models)
        current = await asyncio.to_thread(lambda: load_settings().model)
        self._listed = found
        shown = self.query_one("#models", OptionList)
        shown.clear_options()
        shown.add_options([Option(_row(one, one.name == current)) for one in self._listed])
        names = [one.name for one in self._listed]
        shown.highlighted = names.index(current) if current in names else 0

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        model = self._listed[event.option_index]
        if self._is_downloading:
            self._complaint.show_message("A model is being downloaded; Esc stops it.")
        elif self._given is not None:
            self._complaint.complain(f"{self._given.by} sets the model; start without it to choose here.")
        elif model.kind == "recommended":
            self._start_download(model.name)
        else:
            self._use(model.name)

    def _use(self, name: str) -> None:
        try:
            write_settings({"model": name})
        except RoleLLMError as error:
            self._complaint.complain(error)
        else:
            self.dismiss(True)

    # Downloads

    def _start_download(self, name: str) -> None:
        self._stop.clear()
        self._complaint.show_message(f"Downloading {name}. Esc stops; choosing it again goes on.")
        bar = self.query_one(ProgressBar)
        bar.update(total=None, progress=0)
        bar.display = True
        self._download = self._pull(name)

    @property
    def _is_downloading(self) -> bool:
        return self._download is not None and self._download.state in (
            WorkerState.PENDING,
            WorkerState.RUNNING,
        )

    @work(thread=True, group="download", exit_on_error=False)
    def _pull(self, name: str) -> None:
        shown_at = 0.0

        def show(done: int, total: int) -> None:
            nonlocal shown_at
            if self._stop.is_set():
                raise PullStopped
            if done == total or time.monotonic() - shown_at > _FRAME:
                shown_at = time.monotonic()
                self.app.call_from_thread(self._show_progress, done, total)

        try:
            pull = planned_pull(name)
            pulled(pull, show)
        except PullStopped:
            self.app.call_from_thread(self._end_download, "The download is stopped.")
        except RoleLLMError as error:
            self.app.call_from_thread(self._end_download, error)
        else:
            self.app.call_from_thread(self._use, pull.name)

    def _show_progress(self, done: int, total: int) -> None:
        self.query_one(ProgressBar).update(total=total, progress=done)

    def _end_download(self, told: str | RoleLLMError) -> None:
        self.query_one(ProgressBar).display = False
        if isinstance(told, RoleLLMError):
            self._complaint.complain(told)
        else:
            self._complaint.show_message(told)

    # Keys

    def action_remove(self) -> None:
        """Delete the downloaded model under the cursor, when the key is pressed twice."""
        place = self.query_one("#models", OptionList).highlighted
        if place is None or self._is_downloading:
            return
        name = self._listed[place].name
        if self._to_remove != name:
            self._to_remove = name
            self._complaint.show_message(f"Press d again to delete {name} from the disk.")
            return
        self._to_remove = ""
        try:
            freed = removed_model(name)
        except RoleLLMError as error:
            self._complaint.complain(error)
            return
        self._complaint.show_message(f"Removed; {freed / 1e9:.1f} GB are free again.")
        self._load()

    def action_leave(self) -> None:
        """Stop the download, or close the list."""
        if self._is_downloading:
            self._stop.set()
        else:
            self.dismiss(False)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Show errors that nothing else has shown."""
        if event.state is WorkerState.ERROR:
            self._complaint.complain(failure_text(event))

    @property
    def _complaint(self) -> Complaint:
        return self.query_one(Complaint)


def _row(model: KnownModel, is_current: bool) -> Content:
    mark = "● " if is_current else "  "
    return Content.assemble(
        mark,
        (model.name, "bold"),
        f"  {_KINDS[model.kind]}",
        ("\n    " + model.help if model.help else "", MUTED),
    )

"""The dialog that exports a conversation."""

import asyncio
import re
from pathlib import Path
from typing import Literal

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option
from textual.worker import Worker

from rolellm_agents.chat_files import EXPORT_FORMATS, ExportFormat
from rolellm_agents.errors import RoleLLMError
from rolellm_agents.text import one_line, plain
from rolellm_agents.transcript import ConversationSummary, Transcript
from rolellm_tui.slash.exporting import export_to
from rolellm_tui.widgets.common.after_typing import after_typing
from rolellm_tui.widgets.common.failures import failure_text
from rolellm_tui.widgets.common.path_suggester import PathSuggester
from rolellm_tui.widgets.common.status_line import Complaint

_FORMATS: dict[ExportFormat, tuple[str, str, str]] = {
    "markdown": ("Markdown", ".md", "for reading"),
    "json": ("JSON", ".json", "complete: all branches and swipes"),
    "sillytavern": ("SillyTavern", ".jsonl", "for SillyTavern, with swipes of the current branch"),
    "sharegpt": ("ShareGPT", ".json", "for training: one object with all turns"),
}
"""Name, file suffix and purpose of each format."""
_LONGEST_STEM = 60


class ExportScreen(ModalScreen[Path | None]):
    """Asks for a format and a file. Returns the written file, or None."""

    CSS_PATH = "export.tcss"
    AUTO_FOCUS = "#formats"
    BINDINGS = [
        Binding("enter", "write", "Write", id="export.write", tooltip="Write the file.", priority=True),
        Binding("escape", "leave", "Close", id="export.close", tooltip="Cancel."),
    ]

    def __init__(self, transcript: Transcript, conversation: ConversationSummary, title: str) -> None:
        """Create the dialog.

        Args:
            transcript: the transcript that stores the conversation.
            conversation: the id of the conversation.
            title: the title of the conversation.
        """
        super().__init__()
        self._transcript = transcript
        self._conversation = conversation
        self._title = title
        self._warned_of: Path | None = None
        self._busy = False

    def compose(self) -> ComposeResult:
        """Compose the formats and the path of the file."""
        with Vertical(id="export"):
            yield Static(f"Export “{one_line(self._title, 50)}”", classes="title", markup=False)
            yield OptionList(*map(_option, EXPORT_FORMATS), id="formats", markup=False)
            endings = tuple(ending for _, ending, _ in _FORMATS.values())
            yield Input(self._default_name(), suggester=PathSuggester(endings), id="path")
            yield Static(id="place", markup=False)
            yield Complaint(id="complaint")
            yield Static("↑↓ format · Tab file · Enter write · Esc cancel", classes="keys", markup=False)

    def on_mount(self) -> None:
        """Select the first format."""
        self.query_one("#formats", OptionList).highlighted = 0

    @on(OptionList.OptionHighlighted)
    def _format_changed(self) -> None:
        """Change the suffix to that of the format, unless the user chose another."""
        path = self.query_one("#path", Input)
        stem, dot, ending = path.value.rpartition(".")
        if dot and f".{ending}" in {suffix for _, suffix, _ in _FORMATS.values()}:
            path.value = stem + _FORMATS[self._format][1]

    @on(Input.Changed)
    def _path_changed(self, event: Input.Changed) -> None:
        self._warned_of = None
        self._complaint.show_message("")
        self.query_one("#place", Static).update(
            f"in {plain(str(self._path.parent))}" if event.value else ""
        )

    def action_write(self) -> None:
        """Write the file. An existing file needs a second confirmation."""
        after_typing(self, self._begin)

    @work(group="write", exclusive=True, exit_on_error=False)
    async def _begin(self) -> None:
        path = self._path
        if self._busy:
            return
        if not self.query_one("#path", Input).value.strip():
            self._complaint.complain("Enter a file name first.")
            return
        self._busy = True
        try:
            existing = await asyncio.to_thread(_existing_file, path)
            if existing == "folder":
                self._complaint.complain(f"{path} is a folder; enter a file name.")
                return
            if existing and path != self._warned_of:
                self._warned_of = path
                self._complaint.show_message(
                    f"{path.name} already exists; press Enter again to overwrite it."
                )
                return
            await asyncio.to_thread(export_to, self._transcript, self._conversation.id, path, self._format)
        except RoleLLMError as error:
            self._complaint.complain(error)
        else:
            self.dismiss(path)
        finally:
            self._busy = False

    def action_leave(self) -> None:
        """Cancel, after a running export has finished."""
        if not self._busy:
            self.dismiss(None)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report errors of workers instead of ending the app."""
        if failure := failure_text(event):
            self._complaint.complain(failure)

    @property
    def _format(self) -> ExportFormat:
        return EXPORT_FORMATS[self.query_one("#formats", OptionList).highlighted or 0]

    @property
    def _path(self) -> Path:
        typed = Path(self.query_one("#path", Input).value.strip())
        try:
            return typed.expanduser().absolute()
        except (OSError, RuntimeError):  # the current folder or the user of `~user` does not exist
            return typed

    def _default_name(self) -> str:
        conversation = self._conversation
        title = conversation.title or f"{conversation.persona} {conversation.updated[:10]}"
        stem = re.sub(r"[^\w]+", "-", title.casefold()).strip("-_")[:_LONGEST_STEM]
        return f"{stem or conversation.id}{_FORMATS[EXPORT_FORMATS[0]][1]}"

    @property
    def _complaint(self) -> Complaint:
        return self.query_one(Complaint)


def _existing_file(path: Path) -> Literal["", "file", "folder"]:
    try:
        return "folder" if path.is_dir() else "file" if path.exists() else ""
    except OSError:  # the attempt to write will report the error
        return ""


def _option(format_: ExportFormat) -> Option:
    name, _, purpose = _FORMATS[format_]
    width = max(len(name) for name, _, _ in _FORMATS.values())
    return Option(Content.assemble((f"{name:<{width}}", "bold"), "  ", (purpose, "$foreground-muted")))

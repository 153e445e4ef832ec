"""The bin: what was deleted, for thirty days."""

import asyncio

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Header, OptionList, Static
from textual.widgets.option_list import Option
from textual.worker import Worker

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.text import one_line
from rolellm_agents.transcript import BinEntry, DeletionExtent, Transcript
from rolellm_tui.screens.delete import DeleteScreen
from rolellm_tui.widgets.common.deletions import about_entry, empty_bin, extent_of
from rolellm_tui.widgets.common.failures import failure_text
from rolellm_tui.widgets.common.formatting import counted
from rolellm_tui.widgets.common.key_footer import KeyFooter
from rolellm_tui.widgets.common.status_line import StatusLine

_EMPTY = "The bin is empty. What you delete stays here for thirty days."
_LINGERS = (
    "Deleted. Another program reads the conversations, so the text is still in their log; it is removed "
    "when you start rolellm the next time."
)


class BinScreen(Screen[None]):
    """Lists deletions; each can be taken back, or deleted forever."""

    CSS_PATH = "bin.tcss"
    AUTO_FOCUS = "#bin"
    BINDINGS = [
        Binding("enter,u", "take_back", "Take back", id="bin.take-back", tooltip="Take it back."),
        Binding("delete", "forget", "Delete", id="bin.forget", tooltip="Delete it forever."),
        Binding("e", "empty", "Empty", id="bin.empty", tooltip="Delete everything in the bin forever."),
        Binding("escape", "leave", "Back", id="bin.leave", tooltip="Back."),
    ]

    def __init__(self, transcript: Transcript) -> None:
        """Show the bin of a transcript."""
        super().__init__()
        self._transcript = transcript
        self._entries: list[BinEntry] = []
        self._busy = False

    def compose(self) -> ComposeResult:
        """Compose the list."""
        yield Header()
        yield OptionList(id="bin", markup=False)
        yield Static(_EMPTY, id="bin-empty", markup=False)
        yield StatusLine(id="status")
        yield KeyFooter()

    def on_mount(self) -> None:
        """Load the list."""
        self.sub_title = "bin"
        self._load()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enable the actions that apply now."""
        return bool(self._entries) or action not in ("take_back", "forget", "empty")

    @work(group="bin", exit_on_error=False)
    async def _load(self) -> None:
        await self._list()

    async def _list(self) -> None:
        rows, at = self.query_one(OptionList), self.query_one(OptionList).highlighted
        self._entries = await asyncio.to_thread(self._transcript.bin)
        rows.set_options(Option(_line(entry), id=entry.id) for entry in self._entries)
        rows.display = bool(self._entries)
        self.query_one("#bin-empty").display = not self._entries
        if self._entries:
            rows.highlighted = min(at or 0, len(self._entries) - 1)
        self.refresh_bindings()

    @property
    def _highlighted(self) -> BinEntry | None:
        at = self.query_one(OptionList).highlighted
        return self._entries[at] if at is not None and at < len(self._entries) else None

    def on_option_list_option_selected(self) -> None:
        """Take back what was clicked, or chosen with Enter."""
        self.action_take_back()

    @work(group="bin", exit_on_error=False)
    async def action_take_back(self) -> None:
        """Take back the highlighted deletion."""
        if self._busy or (entry := self._highlighted) is None:
            return
        try:
            await asyncio.to_thread(self._transcript.take_back, entry.id)
            self._status.show_message(f"Taken back: {about_entry(entry)}, {extent_of(entry)}.")
        except RoleLLMError as error:
            self._status.complain(error)
        await self._list()

    @work(group="bin", exit_on_error=False)
    async def action_forget(self) -> None:
        """Delete the highlighted deletion forever, after a question."""
        if not self._busy and (entry := self._highlighted):
            extent = DeletionExtent(messages=entry.messages, conversations=entry.conversations)
            await self._empty(about_entry(entry), extent, entry.id)

    @work(group="bin", exit_on_error=False)
    async def action_empty(self) -> None:
        """Delete everything in the bin forever, after a question."""
        if not self._busy and self._entries:
            messages = sum(entry.messages for entry in self._entries)
            conversations = sum(entry.conversations for entry in self._entries)
            extent = DeletionExtent(messages=messages, conversations=conversations)
            await self._empty("everything in the bin", extent, None)

    async def _empty(self, what: str, extent: DeletionExtent, deletion: str | None) -> None:
        if not await self.app.push_screen_wait(DeleteScreen(what, extent, forever=True)):
            return
        self._busy = True
        self._status.show_message("Deleting… The bin is emptied in the background.")
        try:
            wiped = await asyncio.to_thread(empty_bin, self._transcript, deletion)
            self._status.show_message("Deleted forever." if wiped else _LINGERS)
        except RoleLLMError as error:
            self._status.complain(error)
        finally:
            self._busy = False
        await self._list()

    def action_leave(self) -> None:
        """Go back."""
        self.dismiss()

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report errors of workers instead of ending the app."""
        if failure := failure_text(event):
            self._status.complain(failure)

    @property
    def _status(self) -> StatusLine:
        return self.query_one(StatusLine)


def _line(entry: BinEntry) -> Content:
    left = counted(entry.days_left, "day")
    what = one_line(about_entry(entry), 70)
    who = f"{entry.persona} · " if entry.persona and entry.kind != "persona" else ""
    return Content(f"{left:>8} left   {who}{what} · {extent_of(entry)}")

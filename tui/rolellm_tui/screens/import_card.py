"""The dialog that previews and imports a character card."""

import asyncio
from dataclasses import dataclass

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static
from textual.worker import Worker

from rolellm_agents.errors import PersonaError
from rolellm_agents.persona.from_card.files import ImportedFile
from rolellm_agents.text import plain
from rolellm_tui.widgets.common.after_typing import after_typing
from rolellm_tui.widgets.common.failures import what_failed
from rolellm_tui.widgets.common.formatting import counted
from rolellm_tui.widgets.common.path_input import PathInput
from rolellm_tui.widgets.common.status_line import Complaint
from rolellm_tui.widgets.library.incoming import Preview, bring_in, is_json, look

PAUSE = 0.15
"""Seconds without a key press before the file is read."""
_EXAMPLE = "~/Downloads/seraphina.png"
_HELP = "Path of a file; Tab completes it. Or drop a file here, or paste JSON of a card."
_WAYS = 8
"""Maximum number of displayed completions."""


@dataclass(frozen=True)
class _Seen:
    """A card that was read from a path or pasted text."""

    given: str
    previews: list[Preview]


class ImportScreen(ModalScreen[tuple[ImportedFile, ...]]):
    """Asks for a card. Returns the imported items."""

    CSS_PATH = "import_card.tcss"
    AUTO_FOCUS = "#path"
    BINDINGS = [
        Binding("enter", "bring_in", "Import", id="import.do", tooltip="Import.", priority=True),
        Binding("escape", "leave", "Close", id="import.close", tooltip="Cancel."),
    ]

    def __init__(self, given: str = "") -> None:
        """Ask for a card.

        Args:
            given: a path or JSON of a card.
        """
        super().__init__()
        self._json = given if is_json(given) else ""
        self._path = "" if self._json else given
        self._seen: _Seen | None = None
        self._warned_of = ""
        self._busy = False

    def compose(self) -> ComposeResult:
        """Compose the path, the preview and the status line."""
        with Vertical(id="import"):
            yield Static("Import a character", classes="title", markup=False)
            yield PathInput(self._path, placeholder=_EXAMPLE, id="path")
            yield Static(_HELP, id="help", markup=False)
            with VerticalScroll(id="preview", can_focus=False):
                yield Static(id="seen", markup=False)
            yield Complaint(id="complaint")
            yield Static("Enter import · Esc cancel", classes="keys", markup=False)

    def on_mount(self) -> None:
        """Preview the given card."""
        self._look()

    @on(PathInput.JsonPasted)
    def _json_pasted(self, event: PathInput.JsonPasted) -> None:
        self._json = event.text
        path = self.query_one("#path", PathInput)
        if path.value:
            path.value = ""
        else:
            self._look()

    @on(Input.Changed, "#path")
    def _typed(self, event: Input.Changed) -> None:
        if event.value:
            self._json = ""
        self._look()

    @on(PathInput.Ways)
    def _show_ways(self, event: PathInput.Ways) -> None:
        more = len(event.names) - _WAYS
        names = [*event.names[:_WAYS], *([f"and {more} more"] if more > 0 else [])]
        self.query_one("#help", Static).update(plain("   ".join(names)) or _HELP)

    @work(group="look", exclusive=True, exit_on_error=False)
    async def _look(self) -> None:
        """Preview the file after a pause in typing."""
        given = self._given
        if self._seen and self._seen.given == given:
            return
        self._seen = None
        self._show()
        self.query_one("#path", PathInput).placeholder = "what you pasted" if self._json else _EXAMPLE
        if given:
            await asyncio.sleep(PAUSE)
            try:
                await self._see(given)
            except PersonaError as error:
                # Not as an error: one may still be typing.
                self._show(str(error))

    async def _see(self, given: str) -> list[Preview]:
        """Read and preview the card, unless it was read before."""
        if self._seen is None or self._seen.given != given:
            self._seen = _Seen(given, await asyncio.to_thread(look, given))
            self._show()
        return self._seen.previews

    def action_bring_in(self) -> None:
        """Import the file."""
        after_typing(self, self._begin)

    def _begin(self) -> None:
        if not self._given:
            self._complaint.complain("Enter a file name first, or paste a card.")
        elif not self._busy:
            self._bring_in()

    @work(group="import", exit_on_error=False)
    async def _bring_in(self) -> None:
        self._busy = True
        self.workers.cancel_group(self, "look")
        given = self._given
        try:
            there = [one.name for one in await self._see(given) if one.replaces]
            if there and self._warned_of != given:
                self._warned_of = given
                self._show(f"You have {' and '.join(there)} already; press Enter again to overwrite.")
                return
            imported = await asyncio.to_thread(bring_in, given, replace=bool(there))
            self.dismiss(tuple(imported))
        except PersonaError as error:
            self._complaint.complain(error)
        finally:
            self._busy = False

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report errors of workers instead of closing the dialog."""
        if failure := what_failed(event):
            self._complaint.complain(failure)

    def action_leave(self) -> None:
        """Cancel, after a running import has finished."""
        if not self._busy:
            self.dismiss(())

    @property
    def _given(self) -> str:
        return self._json or self.query_one("#path", PathInput).value.strip()

    @property
    def _complaint(self) -> Complaint:
        return self.query_one(Complaint)

    def _show(self, told: str = "") -> None:
        """Show a card with its notes."""
        seen = Content("\n\n").join(_told(one) for one in (self._seen.previews if self._seen else ()))
        self.query_one("#seen", Static).update(seen)
        self.query_one("#preview").display = bool(seen)
        self._complaint.tell(told)


def _told(one: Preview) -> Content:
    lore = f"{one.lore} lore entries" if one.lore else ""
    found = " · ".join(part for part in (one.format, lore, _findings(one)) if part)
    return Content.assemble(
        (plain(one.name), "bold"),
        "  ",
        (found, "$foreground-muted"),
        *(("\n", plain(one.about)) if one.about else ()),
    )


def _findings(one: Preview) -> str:
    if one.kind == "lorebook":
        return ""
    counts = [
        counted(count, word) for count, word in ((one.errors, "error"), (one.warnings, "warning")) if count
    ]
    return f"lint: {', '.join(counts) or 'clean'}"

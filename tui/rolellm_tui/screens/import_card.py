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
from rolellm_tui.widgets.common.failures import failure_text
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
class _CardPreviews:
    """A card that was read from a path or pasted text."""

    source: str
    previews: list[Preview]


class ImportScreen(ModalScreen[tuple[ImportedFile, ...]]):
    """Asks for a card. Returns the imported items."""

    CSS_PATH = "import_card.tcss"
    AUTO_FOCUS = "#path"
    BINDINGS = [
        Binding("enter", "bring_in", "Import", id="import.do", tooltip="Import.", priority=True),
        Binding("escape", "leave", "Close", id="import.close", tooltip="Cancel."),
    ]

    def __init__(self, text: str = "") -> None:
        """Create the dialog.

        Args:
            text: the path of a card, or its JSON.
        """
        super().__init__()
        self._json = text if is_json(text) else ""
        self._path = "" if self._json else text
        self._card_previews: _CardPreviews | None = None
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
        hidden = len(event.names) - _WAYS
        names = [*event.names[:_WAYS], *([f"and {hidden} more"] if hidden > 0 else [])]
        self.query_one("#help", Static).update(plain("   ".join(names)) or _HELP)

    @work(group="look", exclusive=True, exit_on_error=False)
    async def _look(self) -> None:
        """Preview the file after a pause in typing."""
        text = self._card_text
        if self._card_previews and self._card_previews.source == text:
            return
        self._card_previews = None
        self._show()
        self.query_one("#path", PathInput).placeholder = "what you pasted" if self._json else _EXAMPLE
        if text:
            await asyncio.sleep(PAUSE)
            try:
                await self._read_previews(text)
            except PersonaError as error:
                # Not shown as an error, because the user may still be typing.
                self._show(str(error))

    async def _read_previews(self, text: str) -> list[Preview]:
        """Read and preview the card, unless it was read before."""
        if self._card_previews is None or self._card_previews.source != text:
            self._card_previews = _CardPreviews(text, await asyncio.to_thread(look, text))
            self._show()
        return self._card_previews.previews

    def action_bring_in(self) -> None:
        """Import the file."""
        after_typing(self, self._begin)

    def _begin(self) -> None:
        if not self._card_text:
            self._complaint.complain("Enter a file name first, or paste a card.")
        elif not self._busy:
            self._bring_in()

    @work(group="import", exit_on_error=False)
    async def _bring_in(self) -> None:
        self._busy = True
        self.workers.cancel_group(self, "look")
        text = self._card_text
        try:
            existing = [preview.name for preview in await self._read_previews(text) if preview.replaces]
            if existing and self._warned_of != text:
                self._warned_of = text
                self._show(f"You have {' and '.join(existing)} already; press Enter again to overwrite.")
                return
            imported = await asyncio.to_thread(bring_in, text, replace=bool(existing))
            self.dismiss(tuple(imported))
        except PersonaError as error:
            self._complaint.complain(error)
        finally:
            self._busy = False

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report errors of workers instead of closing the dialog."""
        if failure := failure_text(event):
            self._complaint.complain(failure)

    def action_leave(self) -> None:
        """Cancel, after a running import has finished."""
        if not self._busy:
            self.dismiss(())

    @property
    def _card_text(self) -> str:
        return self._json or self.query_one("#path", PathInput).value.strip()

    @property
    def _complaint(self) -> Complaint:
        return self.query_one(Complaint)

    def _show(self, message: str = "") -> None:
        """Show a card with its notes."""
        content = Content("\n\n").join(
            _preview_content(preview)
            for preview in (self._card_previews.previews if self._card_previews else ())
        )
        self.query_one("#seen", Static).update(content)
        self.query_one("#preview").display = bool(content)
        self._complaint.show_message(message)


def _preview_content(preview: Preview) -> Content:
    lore = f"{preview.lore} lore entries" if preview.lore else ""
    details = " · ".join(part for part in (preview.format, lore, _findings(preview)) if part)
    return Content.assemble(
        (plain(preview.name), "bold"),
        "  ",
        (details, "$foreground-muted"),
        *(("\n", plain(preview.about)) if preview.about else ()),
    )


def _findings(preview: Preview) -> str:
    if preview.kind == "lorebook":
        return ""
    counts = [
        counted(count, noun)
        for count, noun in ((preview.errors, "error"), (preview.warnings, "warning"))
        if count
    ]
    return f"lint: {', '.join(counts) or 'clean'}"

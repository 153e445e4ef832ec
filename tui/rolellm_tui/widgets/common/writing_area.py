"""A text area in which people write: it takes every letter, and the user's own editor can take the text."""

from textual import events, work
from textual.binding import Binding
from textual.widgets import TextArea

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.text import plain
from rolellm_tui.external_editor import EditedText, edit_outside, editor_command
from rolellm_tui.widgets.common.edits_at_once import EditsAtOnce

_JOINERS = frozenset("\u200c\u200d")
"""Invisible characters that belong to Persian words and to emoji; Textual takes them for commands."""


def is_letter(event: events.Key) -> bool:
    """Whether a key is a part of a text."""
    return event.is_printable or event.character in _JOINERS


class WritingArea(TextArea, EditsAtOnce):
    """A text area whose text F10 opens in the user's editor."""

    BINDINGS = [
        Binding(
            "f10",
            "edit_outside",
            "Editor",
            id="writing.editor",
            tooltip="Write in your own editor ($VISUAL or $EDITOR).",
            show=False,
        )
    ]

    async def _on_key(self, event: events.Key) -> None:
        if event.character in _JOINERS:
            event.stop()
            event.prevent_default()
            self.replace(event.character or "", *self.selection)
        elif event.is_printable or event.key == "enter" or not await self.edits_at_once(event):
            await super()._on_key(event)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the editor only in a terminal, not in a browser."""
        return action != "edit_outside" or not self.app.is_web

    @work(group="editor", exclusive=True, exit_on_error=False)
    async def action_edit_outside(self) -> None:
        """Let the user's editor change the text."""
        try:
            command = editor_command()
            # The conversation goes on meanwhile, but draws nothing on the editor's screen.
            with self.app.batch_update(), self.app.suspend():
                edited = await edit_outside(self.text, command)
        except RoleLLMError as error:
            self.app.notify(plain(str(error)), severity="error", timeout=20, markup=False)
        else:
            self.take_edited(edited)

    def take_edited(self, edited: EditedText) -> None:
        """Replace the text with that of the editor, if there is a new one."""
        if edited.text is not None:
            self.replace(edited.text, (0, 0), self.document.end)
            self.move_cursor(self.document.end)
        if edited.note:
            self.app.notify(plain(edited.note), timeout=20, markup=False)

"""User personas: who the user is to the characters."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static, TextArea
from textual.widgets.option_list import Option
from textual.worker import Worker

from rolellm_agents.config.settings import write_settings
from rolellm_agents.errors import RoleLLMError, SettingsError
from rolellm_agents.persona.user_persona import (
    UserPersona,
    add_user_persona,
    checked_user_persona,
    keep_user_persona,
    list_user_personas,
    remove_user_persona,
)
from rolellm_agents.text import one_line
from rolellm_tui.widgets.common.after_typing import after_typing
from rolellm_tui.widgets.common.failures import failure_text
from rolellm_tui.widgets.common.status_line import Complaint

_NOBODY = UserPersona("", "Name only", "Characters know your name and nothing else.")
_KEYS = "Ctrl+S save · Esc cancel"
_UNSAVED = "Your changes are not saved: Ctrl+S saves them, Escape discards them."
_SHOWN = 200
"""Maximum length of a description in the list, in characters."""


class UserPersonaScreen(ModalScreen[UserPersona | None]):
    """Asks for a name and a description. Returns them, or None when cancelled."""

    CSS_PATH = "user_personas.tcss"
    AUTO_FOCUS = "#name"
    BINDINGS = [
        Binding("ctrl+s", "keep", "Keep", id="user-persona.keep", tooltip="Save.", priority=True),
        Binding("escape", "leave", "Leave", id="user-persona.leave", tooltip="Cancel.", priority=True),
    ]

    def __init__(self, user_persona: UserPersona | None = None) -> None:
        """Create the dialog.

        Args:
            user_persona: the user persona to edit; None for a new one.
        """
        super().__init__()
        self._user_persona = user_persona or UserPersona("", "")
        self._is_leaving = False

    def compose(self) -> ComposeResult:
        """Compose the form."""
        with Vertical(classes="window"):
            title = (
                f"Change {one_line(self._user_persona.name, 50)}"
                if self._user_persona.id
                else "New user persona"
            )
            yield Static(title, classes="title", markup=False)
            yield Input(
                self._user_persona.name, placeholder="Name by which characters address you", id="name"
            )
            yield Static("Description, for the model:", classes="help", markup=False)
            yield TextArea(self._user_persona.about, soft_wrap=True, id="about")
            yield Complaint(id="complaint")
            yield Static(_KEYS, classes="keys", markup=False)

    @on(Input.Changed)
    @on(TextArea.Changed)
    def _typed(self) -> None:
        self._is_leaving = False
        self._show_keys()

    def _show_keys(self) -> None:
        self.query_one(".keys", Static).update(_UNSAVED if self._is_leaving else _KEYS)

    @on(Input.Submitted)
    def _name_entered(self) -> None:
        self.query_one("#about").focus()

    def action_keep(self) -> None:
        """Return the user persona if it is valid."""
        after_typing(self, self._hand_over)

    def _hand_over(self) -> None:
        try:
            self.dismiss(checked_user_persona(self._typed_persona))
        except SettingsError as error:
            self.query_one(Complaint).complain(error)

    @property
    def _typed_persona(self) -> UserPersona:
        name, about = self.query_one("#name", Input).value, self.query_one("#about", TextArea).text
        return UserPersona(self._user_persona.id, name, about)

    def action_leave(self) -> None:
        """Cancel; ask first if something was changed."""
        after_typing(self, self._leave)

    def _leave(self) -> None:
        if self._is_leaving or self._typed_persona == self._user_persona:
            self.dismiss(None)
        else:
            self._is_leaving = True
            self._show_keys()


@dataclass(frozen=True)
class _Removed:
    """A removed persona, for undo."""

    persona: UserPersona
    was_present: bool


class UserPersonasScreen(ModalScreen[bool]):
    """Saves each change at once. Returns whether there was any."""

    CSS_PATH = "user_personas.tcss"
    AUTO_FOCUS = "#user-personas"
    BINDINGS = [
        Binding("n", "add", "New", id="user-personas.new", tooltip="New user persona."),
        Binding("e", "edit", "Edit", id="user-personas.edit", tooltip="Edit name or description."),
        Binding("d,delete", "remove", "Remove", id="user-personas.remove", tooltip="Remove it."),
        Binding("ctrl+z", "undo", "Undo", id="user-personas.undo", tooltip="Restore the removed one."),
        Binding("escape", "leave", "Back", id="user-personas.leave", tooltip="Back to the settings."),
    ]

    def __init__(self, present: str, *, given_by: str = "") -> None:
        """Create the dialog.

        Args:
            present: the id of the current user persona, or empty.
            given_by: the option or variable that overrides the file, if any.
        """
        super().__init__()
        self._present = present
        self._given_by = given_by
        self._listed: list[UserPersona] = []
        self._removed: list[_Removed] = []
        self._changed = False

    def compose(self) -> ComposeResult:
        """Compose the dialog."""
        with Vertical(classes="window"):
            yield Static("Who you are", classes="title", markup=False)
            yield OptionList(id="user-personas", markup=False)
            yield Complaint(id="complaint")
            keys = "Enter use · n new · e edit · d remove · Esc close"
            yield Static(keys, classes="keys", markup=False)

    def on_mount(self) -> None:
        """Load the data."""
        self._load(self._present)

    @work(group="read", exclusive=True, exit_on_error=False)
    async def _load(self, highlight: str = "") -> None:
        await self._list(highlight)

    async def _list(self, highlight: str) -> None:
        self._complaint.show_message("")
        try:
            found, notes = await asyncio.to_thread(list_user_personas)
        except RoleLLMError as error:
            self._complaint.complain(error)
            return
        self._listed = [_NOBODY, *found]
        if notes:
            self._complaint.complain(notes[0])
        rows = self.query_one("#user-personas", OptionList)
        rows.set_options(Option(self._row(persona)) for persona in self._listed)
        ids = [persona.id for persona in self._listed]
        rows.highlighted = ids.index(highlight) if highlight in ids else 0

    def _row(self, persona: UserPersona) -> Content:
        mark = "  ● in use" if persona.id == self._present else ""
        about = one_line(persona.about, _SHOWN) or "No description."
        return Content.assemble(
            (one_line(persona.name), "bold"), (mark, "$text-accent"), "\n", (about, "$foreground-muted")
        )

    @property
    def _highlighted(self) -> UserPersona:
        index = self.query_one("#user-personas", OptionList).highlighted
        return self._listed[index] if index is not None else _NOBODY

    @on(OptionList.OptionSelected)
    async def _use_highlighted(self) -> None:
        if self._given_by:
            self._complaint.complain(
                f"Your user persona is set by {self._given_by} and cannot be changed here."
            )
            return
        persona = self._highlighted
        if await self._keep(lambda: write_settings({"you": persona.id or None})):
            self.dismiss(True)

    @work(group="ask", exclusive=True, exit_on_error=False)
    async def action_add(self) -> None:
        """Add a user persona."""
        new = await self.app.push_screen_wait(UserPersonaScreen())
        if new and await self._keep(lambda: add_user_persona(new.name, new.about)):
            await self._list("")
            self.query_one("#user-personas", OptionList).action_last()

    @work(group="ask", exclusive=True, exit_on_error=False)
    async def action_edit(self) -> None:
        """Edit the highlighted user persona."""
        if self._highlighted is _NOBODY:
            return
        changed = await self.app.push_screen_wait(UserPersonaScreen(self._highlighted))
        if changed and await self._keep(lambda: keep_user_persona(changed)):
            await self._list(changed.id)

    async def action_remove(self) -> None:
        """Remove the highlighted user persona."""
        persona = self._highlighted
        if persona is not _NOBODY and await self._keep(lambda: remove_user_persona(persona.id)):
            self._removed.append(_Removed(persona, persona.id == self._present))
            self._present = "" if persona.id == self._present else self._present
            await self._list(self._present)
            self._complaint.show_message(f"{persona.name} was removed; Ctrl+Z restores it.")

    async def action_undo(self) -> None:
        """Restore the user persona that was removed last."""
        if not self._removed:
            return
        removed = self._removed[-1]

        def bring_back() -> None:
            keep_user_persona(removed.persona)
            if removed.was_present:
                write_settings({"you": removed.persona.id})

        if await self._keep(bring_back):
            self._removed.pop()
            self._present = removed.persona.id if removed.was_present else self._present
            await self._list(removed.persona.id)

    async def _keep(self, save: Callable[[], object]) -> bool:
        """Save a change; returns whether it succeeded."""
        try:
            await asyncio.to_thread(save)
        except RoleLLMError as error:
            self._complaint.complain(error)
            return False
        self._changed = True
        return True

    def action_leave(self) -> None:
        """Go back to the settings."""
        self.dismiss(self._changed)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report errors of workers instead of ending the app."""
        if failure := failure_text(event):
            self._complaint.complain(failure)

    @property
    def _complaint(self) -> Complaint:
        return self.query_one(Complaint)

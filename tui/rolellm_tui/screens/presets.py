"""The sampler presets: choose, add, edit, import and remove them."""

import asyncio
from dataclasses import dataclass

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option
from textual.worker import Worker

from rolellm_agents.config.settings import load_settings, write_settings
from rolellm_agents.editing.yaml_document import YamlDocument
from rolellm_agents.errors import RoleLLMError, SettingsError
from rolellm_agents.files.atomic_write import write_atomically
from rolellm_agents.models.presets.editing import (
    names_preset,
    new_preset,
    open_preset,
    remove_preset,
)
from rolellm_agents.models.presets.files import FoundPreset, list_presets
from rolellm_agents.models.presets.using import present_preset, samplers_of
from rolellm_agents.text import one_line
from rolellm_tui.screens.import_preset import ImportPresetScreen
from rolellm_tui.screens.preset_editor import PresetEditorScreen
from rolellm_tui.widgets.common.failures import failure_text
from rolellm_tui.widgets.common.status_line import Complaint
from rolellm_tui.widgets.editor.preset_trial import ModelSampling

_SHOWN = 160
"""Maximum length of the values in the list, in characters."""
_KEYS = "Enter use · n new · e edit · i import · d remove · Esc close"


@dataclass(frozen=True)
class _Removed:
    """A removed preset, for undo."""

    found: FoundPreset
    text: str
    was_present: bool


class PresetsScreen(ModalScreen[bool]):
    """Saves each change at once. Returns whether there was any."""

    CSS_PATH = "presets.tcss"
    AUTO_FOCUS = "#presets"
    BINDINGS = [
        Binding("n", "add", "New", id="presets.new", tooltip="Save the present values as a new preset."),
        Binding("e", "edit", "Edit", id="presets.edit", tooltip="Edit the preset's values."),
        Binding("i", "bring_in", "Import", id="presets.import", tooltip="Import a preset from a file."),
        Binding("d,delete", "remove", "Remove", id="presets.remove", tooltip="Remove it."),
        Binding("ctrl+z", "undo", "Undo", id="presets.undo", tooltip="Restore the removed one."),
        Binding("escape", "leave", "Back", id="presets.leave", tooltip="Back to the settings."),
    ]

    def __init__(self, model: str, present: str | None, *, given_by: str = "") -> None:
        """Create the dialog.

        Args:
            model: the name of the model in use.
            present: the name of the present preset in the settings or on the command line; None for none.
            given_by: the option or variable that overrides the settings, if any.
        """
        super().__init__()
        self._model = model
        self._present = present
        self._given_by = given_by
        self._listed: list[FoundPreset | None] = []
        self._removed: list[_Removed] = []
        self._changed = False

    def compose(self) -> ComposeResult:
        """Compose the dialog."""
        with Vertical(classes="window"):
            yield Static("Sampler presets", classes="title", markup=False)
            yield OptionList(id="presets", markup=False)
            yield Complaint(id="complaint")
            yield Static(_KEYS, classes="keys", markup=False)

    def on_mount(self) -> None:
        """Load the data."""
        self._load()

    @work(group="read", exclusive=True, exit_on_error=False)
    async def _load(self) -> None:
        await self._list(None)

    async def _list(self, highlight: str | None) -> None:
        """List the presets, and highlight one by its file's name, or the present one."""
        found, notes = await asyncio.to_thread(list_presets)
        self._listed = [None, *found]
        self._complaint.show_message("")
        if notes:
            self._complaint.complain(notes[0])
        rows = self.query_one("#presets", OptionList)
        rows.set_options(Option(self._row(one)) for one in self._listed)
        wanted = highlight or self._present
        places = [index for index, one in enumerate(self._listed) if one and names_preset(wanted, one)]
        rows.highlighted = places[0] if places else 0

    def _row(self, found: FoundPreset | None) -> Content:
        is_present = names_preset(self._present, found) if found else not self._present
        mark = "  ● in use" if is_present else ""
        name = found.preset.name if found else "No preset"
        values = (
            ", ".join(f"{name} {value}" for name, value in found.preset.active.items())
            if found
            else "The values of the model and of the settings."
        )
        about = one_line(" · ".join(filter(None, (found.preset.about if found else "", values))), _SHOWN)
        return Content.assemble(
            (one_line(name), "bold"), (mark, "$text-accent"), "\n", (about, "$foreground-muted")
        )

    @property
    def _highlighted(self) -> FoundPreset | None:
        index = self.query_one("#presets", OptionList).highlighted
        return self._listed[index] if index is not None else None

    @on(OptionList.OptionSelected)
    async def _use_highlighted(self) -> None:
        if self._given_by:
            self._complaint.complain(f"The preset is set by {self._given_by} and cannot be changed here.")
            return
        found = self._highlighted
        try:
            await asyncio.to_thread(write_settings, {"preset": found.id if found else None})
        except RoleLLMError as error:
            self._complaint.complain(error)
        else:
            self.dismiss(True)

    # Editing

    @work(group="ask", exclusive=True, exit_on_error=False)
    async def action_add(self) -> None:
        """Begin a preset with the values that are in use now."""
        try:
            document = await asyncio.to_thread(self._new)
        except RoleLLMError as error:
            self._complaint.complain(error)
        else:
            await self._edit(document)

    def _new(self) -> YamlDocument:
        return new_preset(present_preset(load_settings(), "New preset", model=self._model))

    @work(group="ask", exclusive=True, exit_on_error=False)
    async def action_edit(self) -> None:
        """Edit the highlighted preset."""
        found = self._highlighted
        if found is None:
            return
        try:
            document = await asyncio.to_thread(open_preset, found)
        except RoleLLMError as error:
            self._complaint.complain(error)
        else:
            await self._edit(document)

    async def _edit(self, document: YamlDocument) -> None:
        try:
            sampling = await asyncio.to_thread(_sampling_of, self._model)
        except RoleLLMError as error:
            self._complaint.complain(error)
            return
        if (kept := await self.app.push_screen_wait(PresetEditorScreen(document, sampling))) is not None:
            self._changed = True
            await self._list(kept)

    @work(group="ask", exclusive=True, exit_on_error=False)
    async def action_bring_in(self) -> None:
        """Import a preset."""
        added = await self.app.push_screen_wait(ImportPresetScreen())
        if added is not None:
            self._changed = True
            await self._list(added)

    async def action_remove(self) -> None:
        """Remove the highlighted preset."""
        found = self._highlighted
        if found is None:
            return
        was_present = names_preset(self._present, found)
        try:
            text = await asyncio.to_thread(remove_preset, found)
        except RoleLLMError as error:
            self._complaint.complain(error)
            return
        self._changed = True
        self._removed.append(_Removed(found, text, was_present))
        if was_present and not self._given_by:
            self._present = None
        await self._list(None)
        self._complaint.show_message(f"{found.preset.name} was removed; Ctrl+Z restores it.")

    async def action_undo(self) -> None:
        """Restore the preset that was removed last."""
        if not self._removed:
            return
        removed = self._removed[-1]
        try:
            await asyncio.to_thread(_restore, removed)
        except RoleLLMError as error:
            self._complaint.complain(error)
            return
        self._removed.pop()
        self._present = removed.found.id if removed.was_present else self._present
        await self._list(removed.found.id)

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


def _restore(removed: _Removed) -> None:
    write_atomically(removed.found.path, removed.text, SettingsError)
    if removed.was_present:
        write_settings({"preset": removed.found.id})


def _sampling_of(model: str) -> ModelSampling:
    """What the model in use takes, and its own values."""
    settings = load_settings().model_copy(update={"preset": None})
    return ModelSampling(model, samplers_of(model), present_preset(settings, "own", model=model).values)

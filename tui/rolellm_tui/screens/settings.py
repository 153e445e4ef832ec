"""The settings: defaults and the user persona."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Header, Input, Static
from textual.worker import Worker

from rolellm_agents.config.settings import (
    DEFAULT_USER,
    Settings,
    given_by_environment,
    load_settings,
    write_settings,
)
from rolellm_agents.errors import RoleLLMError, SettingsError
from rolellm_agents.models.presets.editing import names_preset
from rolellm_agents.models.presets.files import FoundPreset, list_presets, set_by_preset
from rolellm_agents.persona.user_persona import UserPersona, current_user_persona, list_user_personas
from rolellm_agents.plugins import plugin_version
from rolellm_agents.prompting.strategies import strategy_names
from rolellm_agents.recall import method_names
from rolellm_agents.recall.embeddings import get_embeddings
from rolellm_agents.text import did_you_mean, one_line
from rolellm_tui.screens.commands_editor import CommandsEditorScreen
from rolellm_tui.screens.presets import PresetsScreen
from rolellm_tui.screens.start_with import explained, models_to_offer
from rolellm_tui.screens.user_personas import UserPersonasScreen
from rolellm_tui.slash.editing import open_commands
from rolellm_tui.widgets.common.failures import failure_text
from rolellm_tui.widgets.common.key_footer import KeyFooter
from rolellm_tui.widgets.common.status_line import StatusLine
from rolellm_tui.widgets.settings.setting import (
    ChosenSetting,
    OpenSetting,
    Setting,
    SwitchedSetting,
    TypedSetting,
)

_METHODS = {"bm25": "keywords", "chroma": "vectors", "hybrid": "both"}
_EMBEDDINGS = {"lexical": "lexical, built in", "minilm": "minilm, needs the extra hf"}
_NOTICES = {"off": "off", "bell": "bell", "notice": "notice of the desktop"}
_LOADED = ("minilm", "huggingface:", "openai:")
"""Prefixes of embeddings that can be checked only by loading them."""


class Override(NamedTuple):
    """A setting's value from the command line."""

    by: str
    """The option, as in `--model`."""
    value: object


@dataclass(frozen=True)
class _SettingsData:
    """Data of the screen."""

    settings: Settings
    given: Mapping[str, Override]
    """Overridden settings, which cannot be changed here."""
    models: tuple[str, ...]
    user_personas: tuple[UserPersona, ...]
    presets: tuple[FoundPreset, ...]
    notes: tuple[str, ...]
    """One sentence for each file or part of it that could not be read."""

    def value(self, name: str) -> object:
        """The current state of a setting."""
        return self.given[name].value if name in self.given else getattr(self.settings, name)


class SettingsScreen(Screen[bool]):
    """Saves each change at once. Returns whether there was any."""

    CSS_PATH = "settings.tcss"
    BINDINGS = [
        Binding("f4", "you", "You", id="settings.you", tooltip="User personas: add, edit, remove."),
        Binding("f5", "presets", "Presets", id="settings.presets", tooltip="Sampler presets: add, edit."),
        Binding("f6", "commands", "Commands", id="settings.commands", tooltip="Edit your own commands."),
        Binding("ctrl+z", "undo", "Undo", id="settings.undo", tooltip="Undo the last change."),
        Binding("escape", "leave", "Back", id="settings.leave", tooltip="Back."),
    ]

    def __init__(self, flags: Mapping[str, Override] | None = None) -> None:
        """Show the settings.

        Args:
            flags: the values from command-line options, by the name of the setting.
        """
        super().__init__()
        self._flags = dict(flags or {})
        self._data: _SettingsData | None = None
        self._undo: list[dict[str, object]] = []
        self._changed = False
        self._warned = False

    def compose(self) -> ComposeResult:
        """Compose an empty page."""
        yield Header()
        yield VerticalScroll(id="form", can_focus=False)
        yield StatusLine(id="status")
        yield KeyFooter()

    def on_mount(self) -> None:
        """Load the data."""
        self.sub_title = "settings"
        self._fill()

    @work(group="read", exclusive=True, exit_on_error=False)
    async def _fill(self) -> None:
        try:
            self._data = await asyncio.to_thread(_read_data, self._flags)
        except RoleLLMError as error:
            self._status.complain(error)
            return
        await self.query_one("#form").mount_all(self._rows(self._data))
        self._show(self._data)
        if self._data.notes:
            self._status.complain(self._data.notes[0])
        self.focus_next("Select, Input")

    def _rows(self, data: _SettingsData) -> Iterator[Widget]:
        """Fill the page."""
        yield _section("Answers")
        models = {name: name for name in data.models}
        yield OpenSetting(
            "model",
            "Model",
            "Define your own names in models.toml.",
            choices=models,
            example="provider:name, as in openai:gpt-4o-mini",
        )
        strategies = {name: name for name in strategy_names()}
        yield ChosenSetting("strategy", "Strategy", choices=strategies, unset="the model's default")
        yield ChosenSetting("preset", "Preset", choices={}, unset="none")
        own = "the model's default"
        yield TypedSetting("temperature", "Temperature", "0 decodes greedily.", unset=own)
        yield TypedSetting("max_tokens", "Longest answer", "In tokens.", unset=own)
        yield _section("Recall")
        methods = {name: f"{name}, {_method_explained(name)}" for name in method_names()}
        yield ChosenSetting("recall_method", "Method", choices=methods, unset="the strategy's default")
        yield TypedSetting(
            "recall_k",
            "Passages",
            "Maximum number in a prompt.",
            unset=str(Settings.model_fields["recall_k"].default),
        )
        yield TypedSetting(
            "recall_floor",
            "Closeness",
            "Minimum relevance, from 0 to 1.",
            unset="the method's default",
        )
        yield OpenSetting(
            "embeddings",
            "Embeddings",
            "Embedding model.",
            choices=_EMBEDDINGS,
            example="huggingface:… or openai:…",
        )
        yield SwitchedSetting("remember", "Memory", "Characters recall earlier conversations with you.")
        yield _section("You")
        yield ChosenSetting("you", "Who you are", choices={}, unset="only a name")
        yield TypedSetting("user_name", "Your name", unset=DEFAULT_USER)
        yield _section("Keys and notices")
        yield SwitchedSetting("vim_keys", "Vim keys", "The prompt has Vim's normal and insert mode.")
        yield ChosenSetting(
            "notice",
            "Notice",
            "When an answer ends, or it is your turn, while you look at another window.",
            choices=_NOTICES,
        )
        yield TypedSetting(
            "notice_command",
            "Its command",
            "Shows the notice; it gets a title and a text.",
            unset="the terminal; or for example notify-send",
        )
        yield _section("Appearance")
        yield ChosenSetting("theme", "Theme", choices={name: name for name in self.app.available_themes})
        yield TypedSetting(
            "text_width",
            "Text width",
            "Columns of messages, or full. A wider chat shows the persona beside them.",
            unset=str(Settings.model_fields["text_width"].default),
        )

    def _show(self, data: _SettingsData) -> None:
        """Show the current values."""
        user_persona = self.query_one("#you", ChosenSetting)
        user_persona.offer({persona.id: persona.name for persona in data.user_personas})
        self.query_one("#preset", ChosenSetting).offer({one.id: one.preset.name for one in data.presets})
        for row in self.query(Setting):
            override = data.given.get(row.setting)
            row.show(
                data.value(row.setting),
                hint=self._hint(row.setting, data),
                given_by=override.by if override else "",
            )
        self.query_one("#user-name").display = not data.value("you")

    def _hint(self, name: str, data: _SettingsData) -> str | None:
        """The hint of a row; None for its default hint."""
        value = data.value(name)
        match name:
            case "strategy" if value is None:
                return "The strategy the model was tuned with, or few-shot-dialogue."
            case "strategy":
                return explained(str(value))
            case "preset":
                return _preset_hint(data)
            case "you" if value:
                description = next(
                    (persona.about for persona in data.user_personas if persona.id == value), ""
                )
                return one_line(description, 200) or "No description."
            case "you":
                return "F4 manages user personas: a name and a description."
            case "user_name":
                return "Name by which characters address you."
            case "theme" if value not in self.app.available_themes:
                return f"There is no theme {value!r}{did_you_mean(str(value), self.app.available_themes)}."
            case _:
                return None

    # Changes

    @on(Input.Changed)
    def _typed(self) -> None:
        self._warned = False

    @on(Setting.Requested)
    async def _change_requested(self, event: Setting.Requested) -> None:
        await self._keep(event.setting, event.value)

    async def _keep(self, row: Setting, value: object) -> None:
        """Save a valid value, or show the error at its row."""
        try:
            await asyncio.to_thread(_check, row.setting, value)
            before = await asyncio.to_thread(write_settings, {row.setting: value})
        except RoleLLMError as error:
            row.complain(str(error))
            return
        self._undo.append(before)
        await self._refresh_after_change("Saved.")

    async def _refresh_after_change(self, message: str) -> None:
        """Refresh after a change."""
        self._changed = True
        self._warned = False
        try:
            self._data = await asyncio.to_thread(_read_data, self._flags)
        except RoleLLMError as error:
            self._status.complain(error)
            return
        self._show(self._data)
        theme = str(self._data.value("theme"))
        if theme in self.app.available_themes:
            self.app.theme = theme
        self._status.show_message(message)
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enable the actions that apply now."""
        match action:
            case "undo":
                return bool(self._undo)
            case "you" | "presets" | "commands":
                return self._data is not None
            case _:
                return True

    async def action_undo(self) -> None:
        """Undo the last change."""
        before = self._undo.pop()
        try:
            await asyncio.to_thread(write_settings, before)
        except RoleLLMError as error:
            self._undo.append(before)
            self._status.complain(error)
            return
        await self._refresh_after_change("Undone.")

    @work(group="you", exclusive=True, exit_on_error=False)
    async def action_you(self) -> None:
        """Open the user personas."""
        if self._data is None:
            return
        override = self._data.given.get("you")
        screen = UserPersonasScreen(str(self._data.value("you")), given_by=override.by if override else "")
        if await self.app.push_screen_wait(screen):
            await self._refresh_after_change("Saved.")

    @work(group="you", exclusive=True, exit_on_error=False)
    async def action_presets(self) -> None:
        """Open the presets."""
        if self._data is None:
            return
        override, present = self._data.given.get("preset"), self._data.value("preset")
        screen = PresetsScreen(
            str(self._data.value("model")),
            str(present) if present else None,
            given_by=override.by if override else "",
        )
        if await self.app.push_screen_wait(screen):
            await self._refresh_after_change("Saved.")

    @work(group="you", exclusive=True, exit_on_error=False)
    async def action_commands(self) -> None:
        """Edit the user's own commands."""
        if self._data is None:
            return
        try:
            document = await asyncio.to_thread(open_commands)
            user = await asyncio.to_thread(lambda: current_user_persona(load_settings()).name)
        except RoleLLMError as error:
            self._status.complain(error)
            return
        if await self.app.push_screen_wait(CommandsEditorScreen(document, user)):
            await self._refresh_after_change("Saved.")

    async def action_leave(self) -> None:
        """Go back, after saving a typed value if it is valid."""
        for row in self.query(Setting):
            if row.typed != row.held:
                await self._keep(row, row.typed)
                if row.complains and not self._warned:
                    self._warned = True
                    self._status.show_message("Press Escape again to discard the change.")
                    return
        self.dismiss(self._changed)

    # Status

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report errors of workers instead of ending the app."""
        if failure := failure_text(event):
            self._status.complain(failure)

    @property
    def _status(self) -> StatusLine:
        return self.query_one(StatusLine)


def _method_explained(name: str) -> str:
    return _METHODS.get(name) or one_line(plugin_version("rolellm.recall", name), 60)


def _section(title: str) -> Static:
    return Static(title, classes="section", markup=False)


def _read_data(flags: Mapping[str, Override]) -> _SettingsData:
    settings = load_settings()
    overrides = {
        name: Override(variable, getattr(settings, name))
        for name, variable in given_by_environment().items()
    }
    notes: list[str] = []
    models: list[str] = []
    found: list[UserPersona] = []
    try:
        models += models_to_offer()
    except RoleLLMError as error:
        notes.append(str(error))
    given = {**overrides, **flags}
    presets, invalid_presets = list_presets()
    notes += invalid_presets
    try:
        by_preset = set_by_preset(given["preset"].value if "preset" in given else settings.preset)
        overrides |= {
            name: Override(f"the preset {one}", value) for name, (one, value) in by_preset.items()
        }
    except RoleLLMError as error:
        notes.append(str(error))
    try:
        found, invalid = list_user_personas()
        notes += invalid
    except RoleLLMError as error:
        notes.append(str(error))
    return _SettingsData(
        settings,
        {**overrides, **flags},
        tuple(models),
        tuple(found),
        tuple(presets),
        notes=tuple(notes),
    )


def _preset_hint(data: _SettingsData) -> str:
    """What the present preset is for, or how presets are made."""
    present = data.value("preset")
    found = next((one for one in data.presets if names_preset(str(present), one)), None)
    if found is None:
        return "F5 saves the present values as a preset, edits and imports presets."
    values = ", ".join(f"{name} {value}" for name, value in found.preset.active.items())
    return one_line(found.preset.about or values, 200) or "It sets no value."


def _check(name: str, value: object) -> None:
    """Check that a model or embeddings exist.

    Raises:
        RoleLLMError: there is no such model, or there are no such embeddings.
    """
    if name == "model" and isinstance(value, str) and ":" not in value:
        offered = models_to_offer()
        if value not in offered:
            raise SettingsError(
                f"There is no model {value!r}{did_you_mean(value, offered)}; write provider:name."
            )
    if name == "embeddings" and isinstance(value, str) and not value.startswith(_LOADED):
        get_embeddings(value)

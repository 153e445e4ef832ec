"""Sampler presets in the app: the list in the settings, the editor, import, the palette."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.piloting import until
from helpers.role_app import role_app
from helpers.screen_app import ScreenApp, name_of_screen, text_of
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from rolellm_agents.config.paths import user_paths
from rolellm_agents.config.settings import load_settings, write_settings
from rolellm_agents.errors import SettingsError
from rolellm_agents.models.presets.editing import open_preset
from rolellm_agents.models.presets.files import FoundPreset, find_preset, list_presets
from rolellm_agents.models.presets.importing import keep_preset
from rolellm_agents.models.presets.preset import SAMPLERS, Preset
from rolellm_agents.models.presets.using import samplers_of
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.transcript import Transcript
from rolellm_tui.screens.preset_editor import PresetEditorScreen
from rolellm_tui.screens.presets import PresetsScreen
from rolellm_tui.screens.settings import Override, SettingsScreen
from rolellm_tui.slash.settings import change_setting
from rolellm_tui.widgets.editor.preset_trial import ModelSampling

OURS = ModelSampling("llamacpp:rolesmol", frozenset(SAMPLERS), {"top_k": 40})
WRITTEN = "# mine\nname: Night\nmin_p: 0.1  # calm\n"


@pytest.fixture
def night() -> FoundPreset:
    user_paths().presets.mkdir(parents=True)
    (user_paths().presets / "night.yaml").write_text(WRITTEN)
    return find_preset("night")


@pytest.fixture
def transcript() -> Iterator[Transcript]:
    with Transcript(user_paths().transcript) as opened:
        yield opened


def _editor(found: FoundPreset, model: ModelSampling = OURS) -> ScreenApp:
    return ScreenApp(PresetEditorScreen(open_preset(found), model))


async def _value(pilot: Pilot[Any], row: str, text: str) -> None:
    """Type into the first field of a row."""
    outline = pilot.app.screen.query_one("#outline", OptionList)
    await until(pilot, lambda: outline.option_count)
    outline.highlighted = [str(option.prompt) for option in outline.options].index(row)
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(pilot.app.focused, Input))
    await pilot.press("ctrl+u", *text)


@pytest.mark.core
async def test_a_value_is_edited_and_comments_stay(night: FoundPreset) -> None:
    app = _editor(night)
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: "min_p: 0.1" in text_of(pilot, "#trial"))
        assert "top_k: 40, its own" in text_of(pilot, "#trial")
        await _value(pilot, "Temperature", "0.8")
        await until(pilot, lambda: "temperature: 0.8" in text_of(pilot, "#trial"))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "Saved" in text_of(pilot, "#status"))
        await pilot.press("escape")
        await until(pilot, lambda: app.left)
    assert app.result == "night"
    assert night.path.read_text() == WRITTEN + "temperature: 0.8\n"


async def test_mistakes_and_conflicts_are_told_while_one_types(night: FoundPreset) -> None:
    async with _editor(night).run_test(size=(120, 36)) as pilot:
        await _value(pilot, "Temperature", "9")
        await until(pilot, lambda: "'temperature'" in text_of(pilot, "#findings"))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "'temperature'" in text_of(pilot, "#status"))
        await pilot.press("ctrl+u", "0")
        await until(pilot, lambda: "min_p has no effect with temperature 0" in text_of(pilot, "#findings"))
    assert night.path.read_text() == WRITTEN


async def test_what_the_model_does_not_take_is_told(night: FoundPreset) -> None:
    model = ModelSampling("scripted:", samplers_of("scripted:"), {})
    async with _editor(night, model).run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "does not take min_p" in text_of(pilot, "#findings"))
        await pilot.press("f3")
        await until(pilot, lambda: "min_p: not taken by this model" in text_of(pilot, "#trial"))
        assert "temperature: not sent, its own" in text_of(pilot, "#trial")


async def _listed(pilot: Pilot[Any], count: int) -> None:
    def is_there() -> bool:
        presets = pilot.app.screen.query("#presets")
        return bool(presets) and presets.first(OptionList).option_count == count

    await until(pilot, is_there)


async def test_the_present_values_become_a_new_preset() -> None:
    app = ScreenApp(PresetsScreen("llamacpp:rolesmol", None))
    async with app.run_test(size=(120, 36)) as pilot:
        await _listed(pilot, 1)
        await pilot.press("n")
        await until(pilot, lambda: name_of_screen(pilot) == "PresetEditorScreen")
        await _value(pilot, "About", "Evening")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "Saved" in text_of(pilot, "#status"))
        await pilot.press("escape")
        await _listed(pilot, 2)
        await pilot.press("enter")
        await until(pilot, lambda: app.left)
    assert load_settings().preset == "evening"
    assert find_preset("evening").preset.temperature == 0.3
    assert [path.name for path in user_paths().presets.iterdir() if path.suffix == ".draft"] == []


async def test_a_preset_is_removed_and_restored(night: FoundPreset) -> None:
    write_settings({"preset": "night"})
    async with ScreenApp(PresetsScreen("llamacpp:rolesmol", "night")).run_test() as pilot:
        await _listed(pilot, 2)
        assert "Night ● in use" in text_of(pilot, "#presets")
        await pilot.press("d")
        await until(pilot, lambda: "was removed" in text_of(pilot, "#complaint"))
        assert (list_presets()[0], load_settings().preset) == ([], None)
        await pilot.press("ctrl+z")
        await _listed(pilot, 2)
    assert (night.path.read_text(), load_settings().preset) == (WRITTEN, "night")


async def test_a_preset_is_imported_and_what_did_not_come_over_is_told(tmp_path: Path) -> None:
    file = tmp_path / "Owl.json"
    file.write_text(json.dumps({"temp": 0.7, "top_p": 0.9, "tfs": 0.9}))
    async with ScreenApp(PresetsScreen("llamacpp:rolesmol", None)).run_test() as pilot:
        await _listed(pilot, 1)
        await pilot.press("i")
        await until(pilot, lambda: name_of_screen(pilot) == "ImportPresetScreen")
        await pilot.press("enter")
        await until(pilot, lambda: "Enter a file name" in text_of(pilot, "#complaint"))
        await pilot.press(*str(file), "enter")
        await until(pilot, lambda: "Imported Owl: temperature, top_p." in text_of(pilot, "#complaint"))
        assert "tfs 0.9 has no counterpart" in text_of(pilot, "#complaint")
        await pilot.press("escape")
        await _listed(pilot, 2)


async def test_the_settings_show_what_the_preset_overrides(night: FoundPreset) -> None:
    night.path.write_text("name: Night\ntemperature: 0.9\n")
    write_settings({"preset": "night"})
    async with ScreenApp(SettingsScreen()).run_test(size=(120, 60)) as pilot:
        await until(pilot, lambda: "Set by the preset Night" in text_of(pilot, "#temperature .note"))
        assert pilot.app.screen.query_one("#temperature Input", Input).value == "0.9"
        assert text_of(pilot, "#preset .note") == "temperature 0.9"
        await pilot.press("f5")
        await until(pilot, lambda: name_of_screen(pilot) == "PresetsScreen")
        await _listed(pilot, 2)
        await pilot.press("up", "enter")
        await until(pilot, lambda: "Set by" not in text_of(pilot, "#temperature .note"))
    assert load_settings().preset is None


async def test_an_option_of_the_command_sets_the_preset(night: FoundPreset) -> None:
    flags = {"preset": Override("--preset", "night")}
    async with ScreenApp(SettingsScreen(flags)).run_test(size=(120, 60)) as pilot:
        await until(pilot, lambda: "Set by --preset" in text_of(pilot, "#preset .note"))
        await pilot.press("f5")
        await _listed(pilot, 2)
        await pilot.press("enter")
        await until(pilot, lambda: "is set by --preset" in text_of(pilot, "#complaint"))


def test_a_setting_that_the_preset_overrides_cannot_be_set_by_a_command(night: FoundPreset) -> None:
    night.path.write_text("name: Night\ntemperature: 0.9\n")
    change_setting("preset night", lambda _: None)
    with pytest.raises(SettingsError, match="The preset Night overrides the setting temperature"):
        change_setting("temperature 0.2", lambda _: None)
    with pytest.raises(SettingsError, match="There is no preset 'nigth'"):
        change_setting("preset nigth", lambda _: None)


def _options(pilot: Pilot[Any]) -> str:
    listed = pilot.app.screen.query(OptionList)
    return str([option.prompt for option in listed.first().options]) if listed else ""


async def test_the_palette_chooses_a_preset(transcript: Transcript) -> None:
    keep_preset(Preset(name="Night", min_p=0.1))
    async with role_app(ScriptedChatModel(replies=["One."]), transcript).run_test() as pilot:
        await until(pilot, lambda: name_of_screen(pilot) == "LibraryScreen")
        await pilot.press("ctrl+p", *"use preset night")
        await until(
            pilot, lambda: "Use preset Night" in str(pilot.app.screen.query_one(OptionList).options)
        )
        await pilot.press("enter")
        await until(pilot, lambda: load_settings().preset == "night")

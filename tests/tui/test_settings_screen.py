"""The settings: each change is kept at once, and nothing wrong ever is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.piloting import keys_offered, type_fast, until
from helpers.screen_app import ScreenApp, hold_still, name_of_screen, text_of
from helpers.user_files import write_config, write_models
from textual.pilot import Pilot
from textual.widgets import Input, Select, Switch, TextArea

from rolellm_agents.config.paths import user_paths
from rolellm_agents.config.settings import Settings, load_settings, write_settings
from rolellm_agents.persona.user_persona import (
    UserPersona,
    add_user_persona,
    current_user_persona,
    list_user_personas,
)
from rolellm_tui.screens.settings import Override, SettingsScreen
from rolellm_tui.widgets.common.status_line import ERROR_SIGN
from rolellm_tui.widgets.settings.setting import Setting

NARROW, TALL = (80, 24), (120, 60)
BY_HAND = "# mine\ntemperature = 0.5 # calm\n"


class SettingsApp(ScreenApp):
    def __init__(self, flags: dict[str, Override] | None = None) -> None:
        super().__init__(SettingsScreen(flags))


def written() -> str:
    file = user_paths().settings_file
    return file.read_text(encoding="utf-8") if file.exists() else ""


def row(pilot: Pilot[Any], name: str) -> Setting:
    return pilot.app.screen_stack[1].query_one(f"#{name}", Setting)


def line(pilot: Pilot[Any], name: str) -> Input:
    return row(pilot, name).query_one(Input)


def menu(pilot: Pilot[Any], name: str) -> Select[str]:
    return row(pilot, name).query_one(Select)


def note(pilot: Pilot[Any], name: str) -> str:
    return text_of(pilot, f"#{name} .note").removeprefix(f"{ERROR_SIGN} ")


async def filled(pilot: Pilot[Any]) -> None:
    """Wait until the page is there: the first row that can be changed has the focus."""
    await until(pilot, lambda: isinstance(pilot.app.focused, Select))


async def type_into(pilot: Pilot[Any], name: str, text: str, *keys: str) -> None:
    line(pilot, name).focus()
    line(pilot, name).value = text
    await pilot.press(*keys or ("enter",))


async def pick(pilot: Pilot[Any], name: str, value: str) -> None:
    """Go through a menu with the keys."""
    chosen = menu(pilot, name)
    values = [known for _, known in chosen._options]
    steps = values.index(value) - values.index(chosen.value)
    chosen.focus()
    await pilot.press("enter", *(["down"] * steps if steps > 0 else ["up"] * -steps), "enter")


# What is shown


async def test_looking_changes_nothing() -> None:
    app = SettingsApp()
    async with app.run_test(size=TALL) as pilot:
        await filled(pilot)
        for _ in pilot.app.screen.query(Setting):
            await pilot.press("tab")
        await pilot.pause()
        assert "Undo" not in keys_offered(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: app.left)
    assert app.result is False
    assert not user_paths().settings_file.exists()


@pytest.mark.core
async def test_what_holds_is_shown() -> None:
    write_models('[models.workstation]\nspec = "openai:qwen3-8b"\n')
    write_config(
        'model = "workstation"\nstrategy = "system"\ntemperature = 0.25\nrecall_method = "bm25"\n'
        'remember = true\nuser_name = "Eve"\ntheme = "nord"\n'
    )
    async with SettingsApp().run_test(size=TALL) as pilot:
        await filled(pilot)
        assert {
            name: menu(pilot, name).value for name in ("model", "strategy", "recall-method", "theme")
        } == {
            "model": "workstation",
            "strategy": "system",
            "recall-method": "bm25",
            "theme": "nord",
        }
        names = ("temperature", "max-tokens", "recall-k", "recall-floor", "user-name")
        assert [line(pilot, name).value for name in names] == ["0.25", "", "5", "", "Eve"]
        assert row(pilot, "remember").query_one(Switch).value
        assert line(pilot, "max-tokens").placeholder == "the model's default"
        assert note(pilot, "strategy")


async def test_every_setting_a_person_has_is_on_the_page() -> None:
    async with SettingsApp().run_test(size=TALL) as pilot:
        await filled(pilot)
        shown = {one.setting for one in pilot.app.screen.query(Setting)}
        assert set(Settings.model_fields) - shown == {"recall_tokens", "chroma_url"}


async def test_settings_that_cannot_be_read_are_told() -> None:
    file = write_config("temperature = 9\n")
    async with SettingsApp().run_test(size=TALL) as pilot:
        await until(pilot, lambda: "The setting 'temperature' is not usable" in text_of(pilot, "#status"))
        await pilot.press("f4", "ctrl+z", "escape")
        await pilot.pause()
    assert file.read_text(encoding="utf-8") == "temperature = 9\n"


# Changing


@pytest.mark.parametrize(
    ("name", "text", "key", "line_in_file"),
    [
        ("temperature", "0.9", "enter", "temperature = 0.9"),
        ("temperature", "0.9", "tab", "temperature = 0.9"),
        ("temperature", "0.9", "escape", "temperature = 0.9"),
        ("max-tokens", " 64 ", "enter", "max_tokens = 64"),
        ("recall-k", "3", "enter", "recall_k = 3"),
        ("recall-floor", "0.5", "enter", "recall_floor = 0.5"),
        ("user-name", "[b]夏娃[/b]", "enter", 'user_name = "[b]夏娃[/b]"'),
    ],
)
async def test_what_is_typed_is_kept_when_one_has_finished(
    name: str, text: str, key: str, line_in_file: str
) -> None:
    app = SettingsApp()
    async with app.run_test(size=TALL) as pilot:
        await filled(pilot)
        await type_into(pilot, name, text, key)
        await until(pilot, lambda: written() == f"{line_in_file}\n")
        if key != "escape":
            await pilot.press("escape")
        await until(pilot, lambda: app.left)
    assert app.result is True


async def test_the_rest_of_the_file_stays_and_what_is_emptied_is_taken_out() -> None:
    write_config(BY_HAND)
    async with SettingsApp().run_test(size=TALL) as pilot:
        await filled(pilot)
        await type_into(pilot, "temperature", "0.9")
        await until(pilot, lambda: written() == BY_HAND.replace("0.5", "0.9"))
        await type_into(pilot, "temperature", "")
        await until(pilot, lambda: written() == "# mine\n")
        assert load_settings().temperature is None


@pytest.mark.parametrize(
    ("name", "value", "line_in_file"),
    [
        ("strategy", "system", 'strategy = "system"'),
        ("recall-method", "hybrid", 'recall_method = "hybrid"'),
        ("embeddings", "minilm", 'embeddings = "minilm"'),
    ],
)
async def test_what_is_picked_is_kept(name: str, value: str, line_in_file: str) -> None:
    async with SettingsApp().run_test(size=TALL) as pilot:
        await filled(pilot)
        before = note(pilot, "strategy")
        await pick(pilot, name, value)
        await until(pilot, lambda: written() == f"{line_in_file}\n")
        await until(pilot, lambda: text_of(pilot, "#status") == "Saved.")
        assert (note(pilot, "strategy") != before) == (name == "strategy")


async def test_a_method_that_suits_the_strategy_is_no_line_in_the_file() -> None:
    write_config('recall_method = "bm25"\n')
    async with SettingsApp().run_test(size=TALL) as pilot:
        await filled(pilot)
        await pick(pilot, "recall-method", "")
        await until(pilot, lambda: written() == "")


async def test_a_strategy_that_suits_the_model_is_no_line_in_the_file() -> None:
    write_config('strategy = "system"\n')
    async with SettingsApp().run_test(size=TALL) as pilot:
        await filled(pilot)
        await pick(pilot, "strategy", "")
        await until(pilot, lambda: written() == "")
        await until(
            pilot,
            lambda: (
                note(pilot, "strategy") == "The strategy the model was tuned with, or few-shot-dialogue."
            ),
        )


@pytest.mark.core
async def test_a_switch_is_kept() -> None:
    async with SettingsApp().run_test(size=TALL) as pilot:
        await filled(pilot)
        row(pilot, "remember").query_one(Switch).focus()
        await pilot.press("space")
        await until(pilot, lambda: written() == "remember = true\n")
        await pilot.press("space")
        await until(pilot, lambda: written() == "remember = false\n")


async def test_a_theme_is_to_be_seen_at_once() -> None:
    async with SettingsApp().run_test(size=TALL) as pilot:
        await filled(pilot)
        await pick(pilot, "theme", "nord")
        await until(pilot, lambda: pilot.app.theme == "nord")
        assert written() == 'theme = "nord"\n'


async def test_a_theme_that_is_not_there_is_told() -> None:
    write_config('theme = "nrd"\n')
    async with SettingsApp().run_test(size=TALL) as pilot:
        await filled(pilot)
        assert note(pilot, "theme") == "There is no theme 'nrd' (did you mean nord?)."
        assert menu(pilot, "theme").value == "nrd"


async def test_each_change_is_taken_back_in_turn() -> None:
    write_config(BY_HAND)
    async with SettingsApp().run_test(size=TALL) as pilot:
        await filled(pilot)
        await type_into(pilot, "temperature", "0.9")
        await until(pilot, lambda: "0.9" in written())
        await pick(pilot, "strategy", "system")
        await until(pilot, lambda: "system" in written())
        await pilot.press("ctrl+z")
        await until(pilot, lambda: written() == BY_HAND.replace("0.5", "0.9"))
        await until(pilot, lambda: menu(pilot, "strategy").value == "")
        await pilot.press("ctrl+z")
        await until(pilot, lambda: written() == BY_HAND)
        await until(pilot, lambda: line(pilot, "temperature").value == "0.5")
        await until(pilot, lambda: "Undo" not in keys_offered(pilot))


# A model of one's own


async def test_another_model_is_typed_and_then_offered() -> None:
    async with SettingsApp().run_test(size=TALL) as pilot:
        await filled(pilot)
        assert line(pilot, "model").size.height == 0
        await pick(pilot, "model", "\0another")
        await until(pilot, lambda: line(pilot, "model").has_focus)
        await pilot.press(*"openai:qwen3", "enter")
        await until(pilot, lambda: written() == 'model = "openai:qwen3"\n')
        await until(pilot, lambda: menu(pilot, "model").value == "openai:qwen3")
        assert line(pilot, "model").size.height == 0


@pytest.mark.parametrize("key", ["enter", "tab"])
async def test_when_no_other_model_is_typed_the_one_before_holds(key: str) -> None:
    async with SettingsApp().run_test(size=TALL) as pilot:
        await filled(pilot)
        await pick(pilot, "model", "\0another")
        await until(pilot, lambda: line(pilot, "model").has_focus)
        await pilot.press(key)
        await until(pilot, lambda: menu(pilot, "model").value == "llamacpp:rolesmol")
        assert written() == ""


@pytest.mark.parametrize(
    ("name", "typed", "said"),
    [
        (
            "model",
            "rolesm",
            "There is no model 'rolesm' (did you mean llamacpp:rolesmol?); write provider:name.",
        ),
        ("embeddings", "mini", "There are no embeddings 'mini'"),
    ],
)
async def test_a_name_that_names_nothing_is_told_and_stays_to_be_put_right(
    name: str, typed: str, said: str
) -> None:
    async with SettingsApp().run_test(size=TALL) as pilot:
        await filled(pilot)
        await pick(pilot, name, "\0another")
        await until(pilot, lambda: line(pilot, name).has_focus)
        await pilot.press(*typed, "enter")
        await until(pilot, lambda: note(pilot, name).startswith(said))
        assert (line(pilot, name).value, written()) == (typed, "")


# What is wrong


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("temperature", "hot", "The setting 'temperature' must be a number."),
        ("temperature", "9", "The setting 'temperature' must be at most 5."),
        ("max-tokens", "1.5", "The setting 'max_tokens' must be a whole number."),
        ("recall-k", "101", "The setting 'recall_k' must be at most 100."),
        ("recall-floor", "2", "The setting 'recall_floor' must be at most 1."),
        ("user-name", "x" * 81, "The setting 'user_name' must have at most 80 characters."),
    ],
)
async def test_a_wrong_value_is_told_at_its_place_and_not_written(name: str, text: str, said: str) -> None:
    write_config(BY_HAND)
    app = SettingsApp()
    async with app.run_test(size=TALL) as pilot:
        await filled(pilot)
        await type_into(pilot, name, text)
        await until(pilot, lambda: note(pilot, name) == said)
        assert row(pilot, name).has_class("wrong")
        assert (line(pilot, name).value, written()) == (text, BY_HAND)
        await pilot.press("escape")
        await until(pilot, lambda: text_of(pilot, "#status") == "Press Escape again to discard the change.")
        assert not app.left
        await pilot.press("escape")
        await until(pilot, lambda: app.left)
    assert (app.result, written()) == (False, BY_HAND)


async def test_a_value_that_was_put_right_is_kept() -> None:
    async with SettingsApp().run_test(size=TALL) as pilot:
        await filled(pilot)
        hint = note(pilot, "temperature")
        await type_into(pilot, "temperature", "9")
        await until(pilot, lambda: row(pilot, "temperature").complains)
        await type_into(pilot, "temperature", "0.9")
        await until(pilot, lambda: note(pilot, "temperature") == hint)
        assert written() == "temperature = 0.9\n"


async def test_a_file_that_cannot_be_written_is_told_at_the_setting() -> None:
    async with SettingsApp().run_test(size=TALL) as pilot:
        await filled(pilot)
        in_the_way = user_paths().config
        in_the_way.parent.mkdir(parents=True)
        in_the_way.touch()
        await type_into(pilot, "temperature", "0.9")
        await until(pilot, lambda: row(pilot, "temperature").complains)
        assert note(pilot, "temperature").endswith("cannot be read: Not a directory.")


# What is given elsewhere


async def test_what_a_variable_gives_is_shown_and_cannot_be_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ROLELLM_TEMPERATURE", "0.25")
    monkeypatch.setenv("ROLELLM_STRATEGY", "system")
    async with SettingsApp().run_test(size=TALL) as pilot:
        await filled(pilot)
        assert note(pilot, "temperature") == "Set by ROLELLM_TEMPERATURE; it cannot be changed here."
        assert (line(pilot, "temperature").value, menu(pilot, "strategy").value) == ("0.25", "system")
        for widget in (line(pilot, "temperature"), menu(pilot, "strategy")):
            widget.focus()
            await pilot.pause()
            assert not widget.has_focus


async def test_what_a_flag_gives_is_shown_and_cannot_be_changed() -> None:
    write_config('model = "scripted:file"\n')
    async with SettingsApp({"model": Override("--model", "scripted:flag")}).run_test(size=TALL) as pilot:
        await filled(pilot)
        assert menu(pilot, "model").value == "scripted:flag"
        assert note(pilot, "model") == "Set by --model; it cannot be changed here."
        assert menu(pilot, "strategy").has_focus


# Who one is


async def test_a_persona_of_ones_own_is_added_and_chosen() -> None:
    app = SettingsApp()
    async with app.run_test(size=TALL) as pilot:
        await filled(pilot)
        assert note(pilot, "you").startswith("F4 manages user personas")
        await pilot.press("f4")
        await until(pilot, lambda: name_of_screen(pilot) == "UserPersonasScreen")
        await pilot.press("n")
        await until(pilot, lambda: name_of_screen(pilot) == "UserPersonaScreen")
        await pilot.press(*"Captain [b]Flint", "enter", *"An old", "enter")
        await type_fast(pilot, *"sailor.", "ctrl+s")
        await until(pilot, lambda: name_of_screen(pilot) == "UserPersonasScreen")
        await until(pilot, lambda: "Captain [b]Flint An old sailor." in text_of(pilot, "#user-personas"))
        await pilot.press("enter")
        await until(pilot, lambda: name_of_screen(pilot) == "SettingsScreen")
        await until(pilot, lambda: note(pilot, "you") == "An old sailor.")
        assert row(pilot, "user-name").size.height == 0
        await pilot.press("escape")
        await until(pilot, lambda: app.left)
    assert app.result is True
    flint = UserPersona("captain-b-flint", "Captain [b]Flint", "An old\nsailor.")
    assert current_user_persona(load_settings()) == flint


async def test_one_is_chosen_in_the_menu_and_only_a_name_again() -> None:
    add_user_persona("Ada")
    async with SettingsApp().run_test(size=TALL) as pilot:
        await filled(pilot)
        await pick(pilot, "you", "ada")
        await until(pilot, lambda: written() == 'you = "ada"\n')
        await until(pilot, lambda: note(pilot, "you") == "No description.")
        await pick(pilot, "you", "")
        await until(pilot, lambda: written() == "")
        await until(pilot, lambda: row(pilot, "user-name").size.height > 0)


async def open_yourselves(pilot: Pilot[Any]) -> None:
    await filled(pilot)
    await pilot.press("f4")
    await until(pilot, lambda: name_of_screen(pilot) == "UserPersonasScreen")
    await until(pilot, lambda: "Name only" in text_of(pilot, "#user-personas"))


async def test_one_is_changed() -> None:
    add_user_persona("Ada", "A mathematician.")
    async with SettingsApp().run_test(size=TALL) as pilot:
        await open_yourselves(pilot)
        await pilot.press("down", "e")
        await until(pilot, lambda: name_of_screen(pilot) == "UserPersonaScreen")
        assert pilot.app.screen.query_one("#about", TextArea).text == "A mathematician."
        pilot.app.screen.query_one("#name", Input).value = "Ada Lovelace"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "Ada Lovelace A mathematician." in text_of(pilot, "#user-personas"))
    assert list_user_personas()[0] == [UserPersona("ada", "Ada Lovelace", "A mathematician.")]


async def test_escape_asks_before_it_discards_what_was_typed_about_one() -> None:
    add_user_persona("Ada", "A mathematician.")
    async with SettingsApp().run_test(size=TALL) as pilot:
        await open_yourselves(pilot)
        await pilot.press("down", "e")
        await until(pilot, lambda: name_of_screen(pilot) == "UserPersonaScreen")
        pilot.app.screen.query_one("#about", TextArea).text = "A poet."
        await pilot.press("escape")
        await until(pilot, lambda: "not saved" in text_of(pilot, ".keys"))
        pilot.app.screen.query_one("#about", TextArea).text = "A poet, too."
        await until(pilot, lambda: "not saved" not in text_of(pilot, ".keys"))
        await pilot.press("escape")
        await until(pilot, lambda: "not saved" in text_of(pilot, ".keys"))
        await pilot.press("escape")
        await until(pilot, lambda: name_of_screen(pilot) == "UserPersonasScreen")
        # Without a change there is nothing to ask.
        await pilot.press("e")
        await until(pilot, lambda: name_of_screen(pilot) == "UserPersonaScreen")
        await pilot.press("escape")
        await until(pilot, lambda: name_of_screen(pilot) == "UserPersonasScreen")
    assert list_user_personas()[0] == [UserPersona("ada", "Ada", "A mathematician.")]


@pytest.mark.parametrize("key", ["d", "delete"])
async def test_one_that_was_removed_comes_back_as_who_one_is(key: str) -> None:
    ada = add_user_persona("Ada", "A mathematician.")
    write_settings({"you": "ada"})
    app = SettingsApp()
    async with app.run_test(size=TALL) as pilot:
        await open_yourselves(pilot)
        assert "Ada ● in use" in text_of(pilot, "#user-personas")
        await pilot.press(key)
        await until(pilot, lambda: text_of(pilot, "#complaint") == "Ada was removed; Ctrl+Z restores it.")
        assert (list_user_personas()[0], load_settings().you) == ([], "")
        await pilot.press("ctrl+z")
        await until(pilot, lambda: "Ada ● in use" in text_of(pilot, "#user-personas"))
        assert current_user_persona(load_settings()) == ada
        await pilot.press("ctrl+z", "escape")
        await until(pilot, lambda: name_of_screen(pilot) == "SettingsScreen")
        await until(pilot, lambda: menu(pilot, "you").value == "ada")


async def test_a_broken_one_hides_neither_the_others_nor_the_settings() -> None:
    add_user_persona("Ada", "A mathematician.")
    file = user_paths().config / "you.toml"
    file.write_text(file.read_text() + "\n[you.eve]\nnom = 'Eve'\n")
    async with SettingsApp().run_test(size=TALL) as pilot:
        await filled(pilot)
        assert "[you.eve] has an unknown key 'nom'" in text_of(pilot, "#status")
        await pilot.press("f4")
        await until(pilot, lambda: "Ada A mathematician." in text_of(pilot, "#user-personas"))
        assert "[you.eve] has an unknown key 'nom'" in text_of(pilot, "#complaint")


@pytest.mark.parametrize("name", ["you.toml", "models.toml"])
async def test_a_file_that_cannot_be_read_is_told_and_the_settings_stay(name: str) -> None:
    write_models("")
    (user_paths().models_file.parent / name).write_text("[broken")
    async with SettingsApp().run_test(size=TALL) as pilot:
        await filled(pilot)
        assert f"{name} is not valid TOML" in text_of(pilot, "#status")


async def test_nobody_is_neither_changed_nor_removed() -> None:
    async with SettingsApp().run_test(size=TALL) as pilot:
        await open_yourselves(pilot)
        await pilot.press("e", "d", "ctrl+z")
        await pilot.pause()
        assert name_of_screen(pilot) == "UserPersonasScreen"
        assert not (user_paths().config / "you.toml").exists()
        await pilot.press("escape")
        await until(pilot, lambda: name_of_screen(pilot) == "SettingsScreen")


async def test_a_name_is_needed() -> None:
    async with SettingsApp().run_test(size=TALL) as pilot:
        await open_yourselves(pilot)
        await pilot.press("n")
        await until(pilot, lambda: name_of_screen(pilot) == "UserPersonaScreen")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: text_of(pilot, "#complaint").startswith("✗ A name is required;"))
        await pilot.press("escape", "escape")
        await until(pilot, lambda: name_of_screen(pilot) == "SettingsScreen")
    assert list_user_personas()[0] == []


async def test_who_one_is_by_a_variable_is_not_chosen_here(monkeypatch: pytest.MonkeyPatch) -> None:
    add_user_persona("Ada")
    add_user_persona("Eve")
    monkeypatch.setenv("ROLELLM_YOU", "eve")
    async with SettingsApp().run_test(size=TALL) as pilot:
        await open_yourselves(pilot)
        assert "Eve ● in use" in text_of(pilot, "#user-personas")
        await pilot.press("up", "enter")
        await until(
            pilot, lambda: "Your user persona is set by ROLELLM_YOU" in text_of(pilot, "#complaint")
        )
        assert written() == ""


async def test_a_file_of_ones_own_that_is_broken_is_told(home: Path) -> None:
    add_user_persona("Ada")
    async with SettingsApp().run_test(size=TALL) as pilot:
        await filled(pilot)
        (home / "config" / "you.toml").write_text("[you", encoding="utf-8")
        await pilot.press("f4")
        await until(pilot, lambda: "is not valid TOML" in text_of(pilot, "#complaint"))
        await pilot.press("n", "escape", "e", "d", "enter")
        await pilot.pause()
    assert (home / "config" / "you.toml").read_text(encoding="utf-8") == "[you"


# Pictures

SnapCompare = Callable[..., bool]


@pytest.mark.core
@pytest.mark.parametrize("size", [NARROW, (120, 40)])
def test_the_settings_look_as_they_did(
    snap_compare: SnapCompare, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    monkeypatch.setenv("ROLELLM_MAX_TOKENS", "200")

    async def look(pilot: Pilot[Any]) -> None:
        await filled(pilot)
        hold_still(pilot)
        await type_into(pilot, "temperature", "9")
        await until(pilot, lambda: row(pilot, "temperature").complains)

    assert snap_compare(SettingsApp(), run_before=look, terminal_size=size)


def test_the_personas_of_ones_own_look_as_they_did(snap_compare: SnapCompare) -> None:
    add_user_persona(
        "Captain Flint", "An old sailor with a limp, kind to cabin boys and harsh to officers."
    )
    add_user_persona("李白", "喝酒的诗人。")
    write_settings({"you": "captain-flint"})

    assert snap_compare(SettingsApp(), run_before=open_yourselves, terminal_size=NARROW)

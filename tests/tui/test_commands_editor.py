"""The editor of own commands and quick replies: the form, what is saved, and how it is opened."""

from typing import Any

import pytest
from helpers.piloting import until
from helpers.screen_app import ScreenApp, name_of_screen, text_of
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from rolellm_agents.config.paths import user_paths
from rolellm_agents.editing.form import Data, value_at, with_field, with_item, without_item
from rolellm_agents.errors import SettingsError
from rolellm_tui.screens.commands_editor import CommandsEditorScreen
from rolellm_tui.screens.settings import SettingsScreen
from rolellm_tui.slash.editing import command_rows, edited_commands, open_commands, save_commands
from rolellm_tui.slash.own import OwnCommand, own_commands

WAVE = """\
# mine
commands:
  - name: wave  # often
    steps:
      - "*waves at {{char}}* {{input}}"
    button: true
"""


def _write(text: str) -> None:
    file = user_paths().commands_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def _with(data: Data, value: Any, *path: Any) -> Data:
    fields = [field for row in command_rows(data) for field in row.fields if field.path == path]
    return with_field(data, fields[0], value)


def test_every_part_of_a_command_has_a_field() -> None:
    (_, row) = command_rows({"commands": [{"name": "wave"}]})
    assert {str(field.path[2]) for field in row.fields} == OwnCommand.model_fields.keys()


def test_a_save_changes_its_line_only() -> None:
    _write(WAVE)
    document = open_commands()
    data = _with(document.data, "hug", "commands", 0, "name")
    data = _with(data, "Shall we go?\nYes.", "commands", 0, "steps", 1)
    save_commands(document, _with(data, False, "commands", 0, "button"))
    assert user_paths().commands_file.read_text() == WAVE.replace("wave  #", "hug  #").replace(
        "    button: true\n", "      - |-\n        Shall we go?\n        Yes.\n"
    )


@pytest.mark.parametrize("before", [None, "# mine\n", "commands: []\n"])
def test_a_first_command_is_written_in_lines_below_the_comments(before: str | None) -> None:
    if before is not None:
        _write(before)
    document = open_commands()
    items = command_rows(document.data)[0].items
    assert items is not None
    data, command = with_item(document.data, items, None)
    data = _with(_with(data, "dusk", *command, "name"), "/again", *command, "steps", 0)
    save_commands(document, data)
    kept = "# mine\n" if before == "# mine\n" else ""
    written = f"{kept}commands:\n  - name: dusk\n    steps:\n      - /again\n"
    assert user_paths().commands_file.read_text() == written


def test_the_last_command_is_removed_and_comments_stay() -> None:
    _write(WAVE)
    document = open_commands()
    save_commands(document, without_item(document.data, ("commands", 0)))
    assert own_commands() == ()
    assert user_paths().commands_file.read_text().startswith("# mine\n")


def test_an_emptied_step_is_gone_at_the_end_and_a_mistake_within() -> None:
    _write(WAVE)
    document = open_commands()
    data = _with(document.data, "Go.", "commands", 0, "steps", 1)
    assert value_at(_with(data, "", "commands", 0, "steps", 1), ("commands", 0, "steps")) == [
        "*waves at {{char}}* {{input}}"
    ]
    with pytest.raises(SettingsError, match=r"line 5: 'commands\[0\].steps\[0\]': a step is empty"):
        edited_commands(document, _with(data, "", "commands", 0, "steps", 0))


def test_a_file_with_a_mistake_is_not_opened() -> None:
    _write("commands:\n  - name: help\n    put: x\n")
    with pytest.raises(SettingsError, match="line 2: 'commands"):
        open_commands()


async def _select(pilot: Pilot[Any], row: str) -> None:
    outline = pilot.app.screen.query_one("#outline", OptionList)
    await until(pilot, lambda: outline.option_count)
    outline.highlighted = [str(option.prompt).strip() for option in outline.options].index(row)
    await pilot.pause()


@pytest.mark.core
async def test_a_command_is_edited_and_its_result_shown() -> None:
    _write(WAVE)
    app = ScreenApp(CommandsEditorScreen(open_commands(), "Sam"))
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: "*waves at Sherlock Holmes*" in text_of(pilot, "#trial"))
        pilot.app.screen.query_one("#line", Input).value = "Hey!"
        await until(pilot, lambda: "*waves at Sherlock Holmes* Hey!" in text_of(pilot, "#trial"))
        await _select(pilot, "1 wave")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.focused, Input))
        await pilot.press("ctrl+u", *"help")
        await until(pilot, lambda: "/help is a command already" in text_of(pilot, "#findings"))
        await pilot.press("ctrl+u", *"greet")
        await until(pilot, lambda: "/greet [TEXT]" in text_of(pilot, "#trial"))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "Saved" in text_of(pilot, "#status"))
        await pilot.press("escape")
        await until(pilot, lambda: app.left)
    assert app.result is True
    assert user_paths().commands_file.read_text() == WAVE.replace("wave  #", "greet  #")


async def test_the_settings_open_the_editor() -> None:
    app = ScreenApp(SettingsScreen())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: pilot.app.screen.query("#model Select"))
        await pilot.press("f6")
        await until(pilot, lambda: name_of_screen(pilot) == "CommandsEditorScreen")
        await until(pilot, lambda: "F7 adds a command" in text_of(pilot, "#status"))
        await pilot.press("f7")
        await until(pilot, lambda: isinstance(pilot.app.focused, Input))
        await pilot.press(*"dusk", "tab", "tab", "tab", *"It is late.", "ctrl+s")
        await until(pilot, lambda: "Saved" in text_of(pilot, "#status"))
        await pilot.press("escape")
        await until(pilot, lambda: name_of_screen(pilot) == "SettingsScreen")
        await pilot.press("escape")
        await until(pilot, lambda: app.left)
    assert app.result is True
    assert [(one.name, one.steps) for one in own_commands()] == [("dusk", ("It is late.",))]
    assert not [*user_paths().config.glob(".*.draft")]

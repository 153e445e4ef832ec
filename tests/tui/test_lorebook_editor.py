"""The lorebook editor, its dialog, and how choices and flags are edited."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.piloting import until
from helpers.screen_app import ScreenApp, name_of_screen, text_of
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Select

from rolellm_agents.config.paths import user_paths
from rolellm_agents.persona import Persona
from rolellm_agents.persona.editing.lorebook_document import LorebookDocument, open_lorebook
from rolellm_tui.screens.lorebook_editor import LorebookEditorScreen
from rolellm_tui.screens.pick_lorebook import PickLorebookScreen
from rolellm_tui.widgets.editor.flag_box import FlagBox
from rolellm_tui.widgets.editor.trial import TrialSetting

WORLD = {
    "entries": {
        "0": {"uid": 0, "key": ["sea"], "comment": "Sea", "content": "It is near.", "position": 4},
        "1": {"uid": 1, "key": ["castle"], "comment": "Castle", "content": "It is old.", "order": 90},
    }
}
EVE = Persona(id="eve", name="Eve", description="Eve walks.")


@pytest.fixture
def world(tmp_path: Path) -> Path:
    file = tmp_path / "world.json"
    file.write_text(json.dumps(WORLD, indent=2))
    return file


def _editor(file: Path, line: str = "") -> ScreenApp:
    setting = TrialSetting("", "Sam", line=line)
    return ScreenApp(LorebookEditorScreen(open_lorebook(str(file)), EVE, setting))


async def _open_entry(pilot: Pilot[Any], index: int) -> None:
    outline = pilot.app.screen.query_one("#outline", OptionList)
    await until(pilot, lambda: outline.option_count)
    outline.highlighted = index
    await until(pilot, lambda: pilot.app.screen.query("#form Select"))


async def test_showing_an_entry_changes_nothing(world: Path) -> None:
    async with _editor(world).run_test() as pilot:
        await _open_entry(pilot, 1)
        await _open_entry(pilot, 2)
        await pilot.pause(0.3)
        assert "not saved" not in text_of(pilot, "#title")


async def test_flags_and_choices_are_saved_in_their_place(world: Path) -> None:
    app = _editor(world)
    async with app.run_test(size=(120, 60)) as pilot:
        await _open_entry(pilot, 1)
        box = pilot.app.screen.query(FlagBox).first()
        await until(pilot, lambda: "☐" in text_of(pilot, "FlagBox"))
        box.value = True
        position = pilot.app.screen.query(Select).first()
        position.value = 1
        await until(pilot, lambda: "not saved" in text_of(pilot, "#title"))
        await until(pilot, lambda: "☑" in text_of(pilot, "FlagBox"))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "Saved" in text_of(pilot, "#status"))
        await pilot.press("escape")
        await until(pilot, lambda: app.left)
    before = json.dumps(WORLD, indent=2)
    after = before.replace('"position": 4', '"position": 1,\n      "disable": true')
    assert app.result == world
    assert world.read_text() == after  # noqa: ASYNC240 - a test


async def test_escape_closes_an_open_choice_first(world: Path) -> None:
    app = _editor(world)
    async with app.run_test(size=(120, 60)) as pilot:
        await _open_entry(pilot, 1)
        select = pilot.app.screen.query(Select).first()
        select.focus()
        await pilot.press("enter")
        await until(pilot, lambda: select.expanded)
        await pilot.press("escape")
        await until(pilot, lambda: not select.expanded)
        assert not app.left
        await pilot.press("escape")
        await until(pilot, lambda: app.left)


async def test_the_active_entries_and_the_budget_are_shown(world: Path) -> None:
    async with _editor(world, "By the sea.").run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: "“Sea” is active" in text_of(pilot, "#trial"))
        assert "1. Sea · 3 tokens · among the last messages" in text_of(pilot, "#trial")
        assert "“Castle” is not active" in text_of(pilot, "#trial")
        assert text_of(pilot, "#tokens").startswith("Lorebook: 3 of at most ")


async def test_the_dialog_opens_imported_lorebooks_and_files(world: Path) -> None:
    folder = user_paths().lorebooks
    folder.mkdir(parents=True)
    (folder / "sea.json").write_text(json.dumps(WORLD))
    assert await _picked("up", "enter") == folder / "sea.json"
    assert await _picked(*str(world), "enter") == world


async def _picked(*keys: str) -> Path:
    app = ScreenApp(PickLorebookScreen())
    async with app.run_test() as pilot:
        await until(pilot, lambda: pilot.app.screen.query_one("#imported", OptionList).option_count)
        await pilot.press(*keys)
        await until(pilot, lambda: app.left)
    assert isinstance(app.result, LorebookDocument)
    return app.result.path


async def test_the_dialog_says_what_is_wrong(tmp_path: Path) -> None:
    app = ScreenApp(PickLorebookScreen())
    async with app.run_test() as pilot:
        await until(pilot, lambda: name_of_screen(pilot) == "PickLorebookScreen")
        await pilot.press("enter")
        await until(pilot, lambda: "Enter a file name" in text_of(pilot, "#complaint"))
        pilot.app.screen.query_one("#path", Input).value = str(tmp_path / "nothing")
        await pilot.press("enter")
        await until(pilot, lambda: "There is no lorebook" in text_of(pilot, "#complaint"))
        await pilot.press("escape")
        await until(pilot, lambda: app.left)
    assert app.result is None

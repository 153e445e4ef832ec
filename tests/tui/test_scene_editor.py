"""The scene editor: how it is opened, the prompt of a seat, findings, and saving."""

from collections.abc import Iterator
from typing import Any

import pytest
from helpers.piloting import keys_offered, until
from helpers.role_app import role_app
from helpers.screen_app import ScreenApp, name_of_screen, text_of
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from rolellm_agents.config.paths import user_paths
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.scene.editing.document import open_scene
from rolellm_agents.scene.loading import find_scene
from rolellm_agents.transcript import Transcript
from rolellm_tui.screens.scene_editor import SceneEditorScreen
from rolellm_tui.widgets.editor.trial import TrialSetting

FERRY = """\
# A crossing.
id: ferry
title: The Ferry
setting: A ferry in fog.
cast:
  - {id: ann, name: Ann Grey, about: You have cut the rope.}
  - {id: ben, name: Ben Stone, secrets: [The sack is empty.]}  # last
opening:
  - text: The bell rings.
"""


@pytest.fixture
def transcript() -> Iterator[Transcript]:
    with Transcript(user_paths().transcript) as opened:
        yield opened


@pytest.fixture
def ferry() -> SceneEditorScreen:
    folder = user_paths().scenes
    folder.mkdir(parents=True)
    (folder / "ferry.yaml").write_text(FERRY)
    return SceneEditorScreen(open_scene(find_scene("ferry")), TrialSetting("", ""))


async def _select(pilot: Pilot[Any], row: str) -> None:
    outline = pilot.app.screen.query_one("#outline", OptionList)
    await until(pilot, lambda: outline.option_count)
    labels = [str(option.prompt).strip() for option in outline.options]
    outline.highlighted = labels.index(row)
    await pilot.pause()


@pytest.mark.core
async def test_the_prompt_is_that_of_the_selected_seat(ferry: SceneEditorScreen) -> None:
    async with ScreenApp(ferry).run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: "You have cut the rope." in text_of(pilot, "#trial"))
        assert text_of(pilot, "#tokens").startswith("Ann Grey · Prompt: about ")
        assert "The sack is empty." not in text_of(pilot, "#trial")
        await _select(pilot, "2 Ben Stone")
        await until(pilot, lambda: text_of(pilot, "#tokens").startswith("Ben Stone"))
        assert "The sack is empty." in text_of(pilot, "#trial")
        assert "The bell rings." in pilot.app.screen.query_one("#trial").render().plain  # type: ignore[union-attr]
        pilot.app.screen.query_one("#line", Input).value = "It rains."
        await until(pilot, lambda: "It rains." in str(pilot.app.screen.query_one("#trial").render()))


async def test_a_mistake_is_told_with_its_line_and_enter_goes_there(ferry: SceneEditorScreen) -> None:
    async with ScreenApp(ferry).run_test(size=(120, 36)) as pilot:
        await _select(pilot, "2 Ben Stone")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.focused, Input))
        await pilot.press(*"sherlok", "home")
        await until(pilot, lambda: "line 7: There is no persona 'sherlok'" in text_of(pilot, "#findings"))
        await _select(pilot, "About")
        pilot.app.screen.query_one("#findings").focus()
        await pilot.press("down", "enter")
        await until(
            pilot, lambda: isinstance(pilot.app.focused, Input) and pilot.app.focused.value == "sherlok"
        )


async def test_seats_are_added_removed_and_undone_and_comments_stay(ferry: SceneEditorScreen) -> None:
    app = ScreenApp(ferry)
    async with app.run_test(size=(80, 24)) as pilot:
        await _select(pilot, "2 Ben Stone")
        await pilot.press("f8")
        await until(pilot, lambda: "Seats (1)" in text_of(pilot, "#outline"))
        await pilot.press("ctrl+z")
        await until(pilot, lambda: "Seats (2)" in text_of(pilot, "#outline"))
        await _select(pilot, "2 Ben Stone")
        await pilot.press("f7")
        await until(pilot, lambda: isinstance(pilot.app.focused, Input))
        await pilot.press(*"shrek", "ctrl+s")
        await until(pilot, lambda: "Saved" in text_of(pilot, "#status"))
        await pilot.press("escape")
        await until(pilot, lambda: app.left)
    assert app.result == "ferry"
    added = "  # last\n  - persona: shrek\n"
    assert (user_paths().scenes / "ferry.yaml").read_text() == FERRY.replace("  # last\n", added)


async def test_the_list_of_scenes_opens_the_editor_with_the_keys_of_the_library(
    transcript: Transcript, ferry: SceneEditorScreen
) -> None:
    model = ScriptedChatModel(replies=["One."])
    async with role_app(model, transcript).run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: name_of_screen(pilot) == "LibraryScreen")
        await pilot.press("f7")
        await until(pilot, lambda: "The Ferry" in text_of(pilot, "#scenes"))
        assert {"Edit", "Write"} <= keys_offered(pilot)
        await pilot.press("f9")
        await until(pilot, lambda: text_of(pilot, "#title").startswith("New scene · new-scene.yaml"))
        await pilot.press("escape")
        await until(pilot, lambda: name_of_screen(pilot) == "ScenesScreen")
        scenes = pilot.app.screen.query_one("#scenes", OptionList)
        await until(pilot, lambda: scenes.option_count)
        titles = [one.scene.title for one in scenes.scenes]  # type: ignore[attr-defined]
        scenes.highlighted = titles.index("The Ferry")
        await pilot.press("f8")
        await until(pilot, lambda: name_of_screen(pilot) == "SceneEditorScreen")
        await until(pilot, lambda: text_of(pilot, "#title") == "The Ferry · ferry.yaml")
        await pilot.press("enter", "end", *" 2", "ctrl+s")
        await until(pilot, lambda: "Saved" in text_of(pilot, "#status"))
        await pilot.press("escape")
        await until(pilot, lambda: "The Ferry 2" in text_of(pilot, "#scenes"))
    assert not [*user_paths().scenes.glob(".*.draft")]


async def test_a_bundled_scene_is_opened_as_a_copy() -> None:
    screen = SceneEditorScreen(open_scene(find_scene("last-booth")), TrialSetting("", ""))
    async with ScreenApp(screen).run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: "This is a copy; it is saved as" in text_of(pilot, "#status"))
        await until(pilot, lambda: "Prompt" in text_of(pilot, "#tokens"))
    assert not user_paths().scenes.joinpath("last-booth.yaml").exists()

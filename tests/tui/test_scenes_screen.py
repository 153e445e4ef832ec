"""The list of scenes, and the ways from and to a scene in the app."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from helpers.piloting import keys_offered, until
from helpers.screen_app import ScreenApp, name_of_screen, text_of
from helpers.user_files import write_config
from textual.pilot import Pilot
from textual.widgets import Input

from rolellm_agents.config.paths import user_paths
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona
from rolellm_agents.scene import LoadedScene, load_scene
from rolellm_agents.transcript import Transcript
from rolellm_graphs.chat.session import Session
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.stage import Stage
from rolellm_tui.app import RoleApp
from rolellm_tui.screens.scene import SceneScreen
from rolellm_tui.screens.scenes import ScenesScreen
from rolellm_tui.widgets.scene.line import SceneLineView
from rolellm_tui.widgets.scene.list import SceneList

FERRY = """\
id: a-ferry
title: The Ferry
setting: A ferry in fog.
cast:
  - {id: ann, name: Ann Grey, about: You have cut the rope.}
  - {id: ben, name: Ben Stone, present: false}
  - {persona: sherlock-holmes, person: true}
director: round-robin
"""


@pytest.fixture
def transcript() -> Iterator[Transcript]:
    with Transcript(user_paths().transcript) as opened:
        yield opened


@pytest.fixture(autouse=True)
def scenes() -> None:
    write("a-ferry", FERRY)


def write(name: str, text: str) -> None:
    folder = user_paths().scenes
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.yaml").write_text(text, "utf-8")


def no_session(persona: Persona, conversation: str | None, /, **_: Any) -> Session:
    raise AssertionError("nobody is to be talked with")


def app_of(transcript: Transcript, *, stage: Stage | None = None) -> RoleApp:
    def open_stage(scene: LoadedScene, conversation: str | None, /, *, seed: int | None = None) -> Stage:
        return stage_of(scene, transcript, conversation, seed)

    return RoleApp(no_session, transcript, stage=stage, open_stage=open_stage)


def stage_of(
    scene: LoadedScene, transcript: Transcript, conversation: str | None = None, seed: int | None = None
) -> Stage:
    model = ScriptedChatModel(replies=["Who rows?", "Not I."])
    return Stage(Ensemble(scene, model=model), transcript, conversation=conversation, seed=seed)


def highlighted(pilot: Pilot[Any]) -> str:
    found = pilot.app.screen.query_one(SceneList).scene
    return found.scene.id if found else ""


def told(pilot: Pilot[Any]) -> list[str]:
    return [line.message.text for line in pilot.app.screen.query(SceneLineView)]


async def to_scenes(pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: name_of_screen(pilot) == "LibraryScreen")
    await pilot.press("f7")
    await until(pilot, lambda: name_of_screen(pilot) == "ScenesScreen" and highlighted(pilot))


async def in_scene(pilot: Pilot[Any], lines: list[str]) -> None:
    await until(pilot, lambda: name_of_screen(pilot) == "SceneScreen" and told(pilot) == lines)
    screen = pilot.app.screen
    assert isinstance(screen, SceneScreen)
    await until(pilot, lambda: not screen.busy)


async def test_each_scene_stands_with_its_cast_and_no_secrets(transcript: Transcript) -> None:
    async with ScreenApp(ScenesScreen(transcript), transcript).run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "The Ferry" in text_of(pilot, "#scenes"))
        assert "Ann Grey · Ben Stone · Sherlock Holmes" in text_of(pilot, "#scenes")
        about = text_of(pilot, "#about")
        assert "A ferry in fog." in about
        assert "Ben Stone joins later" in about
        assert "Sherlock Holmes you" in about
        assert "rope" not in about
        assert "English · round-robin director · at most 24 turns" in about
        await pilot.press("down")
        await until(pilot, lambda: "Compartment Nine" in text_of(pilot, "#about"))
        assert {"Play", "New"} <= keys_offered(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen.id == "_default")


async def test_a_file_that_is_no_scene_is_told(transcript: Transcript) -> None:
    write("broken", "id: broken\n")
    async with ScreenApp(ScenesScreen(transcript), transcript).run_test() as pilot:
        await until(pilot, lambda: "broken.yaml" in text_of(pilot, "#status"))
        assert "The Ferry" in text_of(pilot, "#scenes")


@pytest.mark.core
async def test_one_plays_a_scene_from_the_library_leaves_it_and_goes_on_with_it(
    transcript: Transcript,
) -> None:
    async with app_of(transcript).run_test(size=(120, 40)) as pilot:
        await to_scenes(pilot)
        assert highlighted(pilot) == "a-ferry"
        await pilot.press("enter")
        await in_scene(pilot, [])
        await pilot.press("f6")
        await in_scene(pilot, ["Who rows?"])
        await pilot.press("ctrl+l")
        await to_scenes(pilot)
        assert "1 line" in text_of(pilot, "#scenes")
        await pilot.press("enter")
        await in_scene(pilot, ["Who rows?"])
        await pilot.press("ctrl+n")
        await in_scene(pilot, [])
        await pilot.press("ctrl+l")
        await to_scenes(pilot)
        await pilot.press("n")
        await in_scene(pilot, [])
    assert len(transcript.conversations("scene:a-ferry")) == 1


async def test_a_scene_is_opened_from_the_conversations_at_what_was_found(transcript: Transcript) -> None:
    stage = stage_of(load_scene("a-ferry"), transcript, seed=5)
    async for _ in stage.step():
        pass
    async for _ in stage.again():
        pass
    async with app_of(transcript).run_test(size=(120, 40)) as pilot:
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "Scene Not I." in text_of(pilot, "#conversations"))
        await until(pilot, lambda: "Ann Grey" in text_of(pilot, "#preview Static"))
        pilot.app.screen.query_one("#find", Input).value = "rows"
        await until(pilot, lambda: "Messages" in text_of(pilot, "#conversations"))
        await pilot.press("enter")
        await in_scene(pilot, ["Who rows?"])
        screen = pilot.app.screen
        assert isinstance(screen, SceneScreen)
        assert screen.stage.seed == 5
        assert screen.stage.conversation == stage.conversation


async def test_the_app_begins_with_a_scene_and_writes_it_as_a_file(
    transcript: Transcript, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stage = stage_of(load_scene("a-ferry"), transcript)
    async with app_of(transcript, stage=stage).run_test(size=(120, 40)) as pilot:
        await in_scene(pilot, [])
        await pilot.press("f6")
        await in_scene(pilot, ["Who rows?"])
        await pilot.press("shift+tab", "x")
        await until(pilot, lambda: name_of_screen(pilot) == "ExportScreen")
        await pilot.press("enter")
        await until(pilot, lambda: name_of_screen(pilot) == "SceneScreen")
    assert "Who rows?" in (tmp_path / "the-ferry.md").read_text("utf-8")


async def test_a_scene_whose_cast_is_gone_is_told_of(transcript: Transcript) -> None:
    write("ghosts", FERRY.replace("a-ferry", "a-ghost").replace("sherlock-holmes", "nobody-at-all"))
    app = app_of(transcript)
    async with app.run_test(size=(120, 40)) as pilot:
        await to_scenes(pilot)
        await until(
            pilot,
            lambda: "a-ghost" in (one.scene.id for one in pilot.app.screen.query_one(SceneList).scenes),
        )
        while highlighted(pilot) != "a-ghost":
            await pilot.press("down")
        await pilot.press("enter")
        await until(pilot, lambda: any("nobody-at-all" in one.message for one in app._notifications))
        assert name_of_screen(pilot) == "ScenesScreen"


SnapCompare = Callable[..., bool]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_the_scenes_look_as_they_did(
    transcript: Transcript, snap_compare: SnapCompare, size: tuple[int, int]
) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "The Ferry" in text_of(pilot, "#scenes"))

    assert snap_compare(
        ScreenApp(ScenesScreen(transcript), transcript), run_before=look, terminal_size=size
    )


@pytest.mark.core
@pytest.mark.parametrize(
    ("answer", "models"),
    [("y", {"scripted:Mine.", "theirs:x"}), ("n", {"scripted:Mine."}), ("escape", set())],
)
async def test_the_models_of_a_packs_scene_count_after_a_yes(
    transcript: Transcript, monkeypatch: pytest.MonkeyPatch, answer: str, models: set[str]
) -> None:
    pack = user_paths().packs / "theirs"
    (pack / "scenes").mkdir(parents=True)
    (pack / "pack.yaml").write_text("name: theirs\nversion: 1.0.0\nlicence: CC0-1.0\n")
    told = FERRY.replace("name: Ann Grey", "name: Ann Grey, model: 'theirs:x'").replace(
        "a-ferry", "a-a-ferry"
    )
    (pack / "scenes" / "a-a-ferry.yaml").write_text(told)
    write_config('model = "scripted:Mine."\n')
    made: set[str] = set()

    def make(spec: str, **_: Any) -> ScriptedChatModel:
        made.add(spec)
        return ScriptedChatModel(replies=["Who rows?"])

    monkeypatch.setattr("rolellm_agents.models.presets.using.get_model", make)
    async with RoleApp(no_session, transcript).run_test(size=(120, 40)) as pilot:
        await to_scenes(pilot)
        assert highlighted(pilot) == "a-a-ferry"
        await pilot.press("enter")
        await until(pilot, lambda: name_of_screen(pilot) == "FileModelsScreen")
        assert "ann: theirs:x may send the prompts" in text_of(pilot, "#named")
        assert made == set()
        await pilot.press(answer)
        wanted = "ScenesScreen" if answer == "escape" else "SceneScreen"
        await until(pilot, lambda: name_of_screen(pilot) == wanted)
    assert made == models
    assert user_paths().agreements_file.exists() == (answer == "y")

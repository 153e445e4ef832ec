"""The list of models: one is used at once, or downloaded and then used."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.piloting import until
from helpers.screen_app import ScreenApp, text_of
from textual.pilot import Pilot
from textual.widgets import OptionList, ProgressBar

from rolellm_agents.config.settings import load_settings
from rolellm_agents.errors import StorageError
from rolellm_agents.models.inventory import KnownModel
from rolellm_agents.models.pulling import Pull
from rolellm_tui.screens import models as module
from rolellm_tui.screens.models import ModelsScreen
from rolellm_tui.screens.settings import Override

SMALL = KnownModel("llamacpp:rolesmol", "llamacpp:rolesmol", "embedded", "small")
LOCAL = KnownModel("local:qwen3:4b", "local:qwen3:4b", "running", "in Ollama")
LARGE = KnownModel("lamp", "llamacpp:hf:ada/lamp", "recommended", "large")
Progress = Callable[[int, int], None]


class ModelsApp(ScreenApp):
    def __init__(self, given: Override | None = None) -> None:
        super().__init__(ModelsScreen(given))


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "known_models", lambda: [SMALL, LOCAL, LARGE])


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """A download that shows two steps and waits before its last one."""
    go_on = threading.Event()

    def fetch(progress: Progress) -> list[Path]:
        for done in (10, 60):
            progress(done, 100)
        while not go_on.wait(0.01):
            progress(60, 100)
        progress(100, 100)
        return [Path("lamp.gguf")]

    monkeypatch.setattr(module, "planned_pull", lambda name: Pull(name, "llamacpp:hf:ada/lamp", fetch))
    yield go_on
    go_on.set()


def shown(pilot: Pilot[Any]) -> str:
    return text_of(pilot, "#complaint")


async def choose(pilot: Pilot[Any], place: int) -> None:
    models = pilot.app.screen.query_one("#models", OptionList)
    await until(pilot, lambda: models.option_count == 3)
    models.highlighted = place
    await pilot.press("enter")


async def test_a_model_that_is_here_is_used_from_now_on() -> None:
    async with ModelsApp().run_test() as pilot:
        await choose(pilot, 1)
        await until(pilot, lambda: load_settings().model == "local:qwen3:4b")
        assert not isinstance(pilot.app.screen, ModelsScreen)


async def test_a_recommended_one_is_downloaded_with_progress_and_then_used(held: threading.Event) -> None:
    async with ModelsApp().run_test() as pilot:
        await choose(pilot, 2)
        bar = pilot.app.screen.query_one(ProgressBar)
        await until(pilot, lambda: bar.display and bar.total == 100 and bar.progress >= 10)
        assert "Downloading lamp" in shown(pilot)
        held.set()
        await until(pilot, lambda: not isinstance(pilot.app.screen, ModelsScreen))
    assert load_settings().model == "lamp"


async def test_a_download_is_stopped_and_the_list_stays(held: threading.Event) -> None:
    async with ModelsApp().run_test() as pilot:
        await choose(pilot, 2)
        await until(pilot, lambda: pilot.app.screen.query_one(ProgressBar).total == 100)
        await pilot.press("escape")
        await until(pilot, lambda: shown(pilot) == "The download is stopped.")
        assert isinstance(pilot.app.screen, ModelsScreen)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(pilot.app.screen, ModelsScreen))
    assert load_settings().model == "llamacpp:rolesmol"


async def test_what_goes_wrong_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(progress: Progress) -> list[Path]:
        raise StorageError("The disk is full; free disk space.")

    monkeypatch.setattr(module, "planned_pull", lambda name: Pull(name, "llamacpp:hf:ada/lamp", fetch))
    async with ModelsApp().run_test() as pilot:
        await choose(pilot, 2)
        await until(pilot, lambda: "The disk is full" in shown(pilot))
        await pilot.press("d")
        await until(pilot, lambda: "Press d again to delete lamp" in shown(pilot))
        await pilot.press("d")
        await until(pilot, lambda: "There is no model 'lamp' here" in shown(pilot))


async def test_an_option_of_the_command_line_stays_in_force() -> None:
    async with ModelsApp(Override("--model", "scripted:Hi")).run_test() as pilot:
        await choose(pilot, 1)
        await until(pilot, lambda: "--model sets the model" in shown(pilot))
    assert load_settings().model == "llamacpp:rolesmol"

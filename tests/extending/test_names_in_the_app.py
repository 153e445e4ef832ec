"""The app and its settings know the strategies and recall methods of packages."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.extension_pages import Page, install
from helpers.here import rolellm_here
from helpers.one_screen import OneScreen
from helpers.piloting import until
from helpers.screen_app import ScreenApp
from helpers.user_files import write_config
from textual.widgets import Select, SelectionList

from rolellm_agents.config.paths import user_paths
from rolellm_agents.config.settings import check_setting, load_settings
from rolellm_agents.errors import SettingsError
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona
from rolellm_agents.recall import METHODS
from rolellm_agents.transcript import Transcript
from rolellm_graphs import Session
from rolellm_tui.screens.compare import CompareScreen
from rolellm_tui.screens.settings import SettingsScreen
from rolellm_tui.screens.start_with import explained

ADA = Persona(id="ada", name="Ada", description="Ada counts everything.")


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with the strategy and the recall method of their pages."""
    strategy, method = Page("strategy"), Page("recall-method")
    install(tmp_path / "site", f"{strategy.module}\n{method.module}", {**strategy.groups, **method.groups})
    monkeypatch.syspath_prepend(tmp_path / "site")
    yield
    sys.modules.pop("my_package", None)


def test_a_setting_names_the_recall_method_of_a_package() -> None:
    write_config('recall_method = "letter-pairs"\n')
    assert load_settings().recall_method == "letter-pairs"
    found = rolellm_here("recall", "sherlock-holmes", "Watson's army", "--json")
    assert "letter pairs" in found.stdout, found.stderr
    assert all(check_setting("recall_method", name) == name for name in METHODS)


def test_a_setting_with_a_method_that_nobody_provides_is_told_with_all_names() -> None:
    expected = "must be 'bm25', 'chroma', 'hybrid' or 'letter-pairs'"
    with pytest.raises(SettingsError, match=f"The setting 'recall_method' {expected}"):
        check_setting("recall_method", "letter-pears")
    write_config('recall_method = "letter-pears"\n')
    ran = rolellm_here("recall", "sherlock-holmes", "Watson's army")
    assert ran.returncode == 2
    assert "'hybrid' or 'letter-pairs'" in ran.stderr


async def test_the_settings_offer_and_keep_the_names_of_packages() -> None:
    app = ScreenApp(SettingsScreen())
    async with app.run_test(size=(120, 60)) as pilot:
        await until(pilot, lambda: isinstance(app.focused, Select))
        rows = {name: app.screen_stack[1].query_one(f"#{name}") for name in ("strategy", "recall-method")}
        menus = {name: row.query_one(Select) for name, row in rows.items()}
        menus["strategy"].value = "knowing"
        file = user_paths().settings_file
        await until(pilot, lambda: file.exists() and 'strategy = "knowing"' in file.read_text())
        menus["recall-method"].value = "letter-pairs"
        await until(pilot, lambda: 'recall_method = "letter-pairs"' in file.read_text())
    assert explained("knowing") == "my-package 1.2"


async def test_answers_of_a_strategy_of_a_package_can_be_compared() -> None:
    with Transcript(user_paths().transcript) as transcript:
        session = Session(ADA, transcript, model=ScriptedChatModel(replies=["One."]), strategy="system")
        app = OneScreen(lambda: CompareScreen(session, "How many?"))
        async with app.run_test() as pilot:
            await until(pilot, lambda: bool(app.screen.query(SelectionList)))
            offered = app.screen.query(SelectionList).first()
            assert str(offered.options[-1].prompt) == "knowing  my-package 1.2"

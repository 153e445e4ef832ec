"""Theme files: what they may have, and what is told where they are wrong."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.role_app import role_app, until
from helpers.user_files import write_config
from textual.app import App
from textual.theme import Theme

from rolellm_agents.config.paths import user_paths
from rolellm_agents.config.settings import load_settings
from rolellm_agents.errors import SettingsError
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.transcript import Transcript
from rolellm_tui.cli.doctor.checkup import run_checkup
from rolellm_tui.themes.theme_file import find_themes, read_theme


@pytest.fixture
def transcript(tmp_path: Path) -> Iterator[Transcript]:
    with Transcript(tmp_path / "t.db") as kept:
        yield kept


SEA = """\
name: sea
dark: true
primary: "#1e90ff"
accent: gold
boost: rgba(255,255,255,0.1)
variables:
  text-muted: auto 80%
  link-style: bold underline
  footer-key-foreground: "#ffd700 90%"
"""


def write_theme(text: str, name: str = "sea.yaml") -> Path:
    folder = user_paths().themes
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def named(name: str) -> Theme:
    (theme,) = (theme for theme in find_themes().themes if theme.name == name)
    return theme


def test_a_theme_file_becomes_a_theme_of_textual() -> None:
    theme = read_theme(write_theme(SEA))
    assert (theme.name, theme.primary, theme.accent, theme.secondary) == ("sea", "#1e90ff", "gold", None)
    assert theme.variables["text-muted"] == "auto 80%"
    assert App().get_theme("sea") is None
    app: App[None] = App()
    app.register_theme(theme)
    app.theme = "sea"
    assert app.get_css_variables()["text-muted"] == "auto 80%"


def test_a_theme_without_a_name_has_that_of_its_file() -> None:
    assert read_theme(write_theme("primary: red\n", "moss.yaml")).name == "moss"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("primary: rot\n", "line 1: 'primary': 'rot' is no colour; write for example '#1e90ff'"),
        ("primary: red\nacent: blue\n", "line 2: unknown key 'acent' (did you mean accent"),
        ("primry: red\n", "line 1: unknown key 'primry' (did you mean primary?)"),
        ("dark: true\n", "the key 'primary' is missing."),
        ("primary: red\nsecondary: #ffffff\n", "line 2: 'secondary': there is no value; a colour"),
        ("primary: red\nluminosity_spread: 7\n", "line 2: 'luminosity_spread': input should be less than"),
        (
            "primary: red\nvariables:\n  text: white\n  text-mutd: blue\n",
            "line 4: 'variables.text-mutd': there is no such variable (did you mean text-muted",
        ),
        (
            "primary: red\nvariables:\n  text: white\n  text-muted: auot 40%\n",
            "line 4: 'variables.text-muted': 'auot 40%' is neither a colour nor a text style",
        ),
        ("primary: red\nvariables:\n  text: bold\n", "line 2: 'variables': 'text' must be a colour."),
        ("primary: red\nvariables:\n  link-style: red\n", "'link-style' must be a text style"),
        ("name: nord\nprimary: red\n", "'nord' is the name of a built-in theme; choose another name."),
        ("name: '[b]'\nprimary: red\n", "line 1: 'name': string should match"),
    ],
)
def test_a_mistake_is_told_with_file_line_and_field(text: str, said: str) -> None:
    file = write_theme(text)
    with pytest.raises(SettingsError) as caught:
        read_theme(file)
    assert str(caught.value).startswith(str(file))
    assert said in str(caught.value)


def test_themes_of_ours_are_found_and_can_be_replaced() -> None:
    assert {theme.name for theme in find_themes().themes} == {"high-contrast", "colour-blind"}
    write_theme("primary: red\n", "high-contrast.yaml")
    write_theme("primary: rot\n", "faulty.yml")
    assert named("high-contrast").primary == "red"
    (note,) = find_themes().notes
    assert "faulty.yml, line 1" in note


async def test_the_app_has_the_themes_of_files_and_takes_that_of_the_settings(
    transcript: Transcript,
) -> None:
    write_theme(SEA)
    write_theme("primary: rot\n", "faulty.yaml")
    write_config("theme = 'sea'\n")
    app = role_app(ScriptedChatModel(replies=["One."]), transcript, theme=load_settings().theme)
    async with app.run_test(notifications=True) as pilot:
        assert app.theme == "sea"
        assert {"sea", "high-contrast", "colour-blind", "nord"} <= set(app.available_themes)
        await until(pilot, lambda: [note for note in notes(app) if "faulty.yaml, line 1" in note])


async def test_an_unknown_theme_is_told(transcript: Transcript) -> None:
    app = role_app(ScriptedChatModel(replies=["One."]), transcript, theme="hihg-contrast")
    async with app.run_test(notifications=True) as pilot:
        await until(pilot, lambda: notes(app))
        assert app.theme == "textual-dark"
        assert notes(app) == ["There is no theme 'hihg-contrast' (did you mean high-contrast?)."]


def test_the_doctor_checks_theme_files() -> None:
    write_theme(SEA)
    found = [result for result in run_checkup() if result.what == "themes"]
    assert [(result.state, result.found) for result in found] == [
        ("ok", "colour-blind, high-contrast, sea")
    ]
    write_theme("primary: rot\n", "faulty.yaml")
    found = [result for result in run_checkup() if result.what == "themes"]
    assert [result.state for result in found] == ["ok", "problem"]


def notes(app: App[Any]) -> list[str]:
    return [notification.message for notification in app._notifications]

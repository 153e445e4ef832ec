"""The width of texts, and the persona beside them on wide screens."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from helpers.role_app import role_app, until
from helpers.user_files import ADA, write_config, write_persona
from PIL import Image
from textual.widgets import Static

from rolellm_agents.config.settings import TextWidth, check_setting, load_settings
from rolellm_agents.errors import SettingsError
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import load_persona
from rolellm_agents.transcript import Transcript
from rolellm_tui.app import RoleApp
from rolellm_tui.habits import AppHabits
from rolellm_tui.widgets.chat.bubble import Bubble
from rolellm_tui.widgets.chat.persona_panel import PersonaPanel
from rolellm_tui.widgets.common.status_line import StatusLine
from rolellm_tui.widgets.library.portrait import Portrait


@pytest.fixture
def transcript(tmp_path: Path) -> Iterator[Transcript]:
    with Transcript(tmp_path / "t.db") as kept:
        yield kept


@pytest.mark.parametrize(("given", "width"), [("full", "full"), (120, 120), (" 64 ", 64), ("500", 500)])
def test_a_width_is_a_number_of_columns_or_full(given: object, width: TextWidth) -> None:
    assert check_setting("text_width", given) == width


@pytest.mark.parametrize("given", ["wide", 39, 501, "4.5", "", True, "9" * 5000])
def test_another_width_is_refused(given: object) -> None:
    with pytest.raises(
        SettingsError, match=r"'text_width' must be 'full' or a whole number from 40 to 500\."
    ):
        check_setting("text_width", given)


def test_the_width_is_a_setting() -> None:
    write_config("text_width = 'full'\n")
    assert AppHabits.of(load_settings()).text_width == "full"


def chat_app(transcript: Transcript, text_width: TextWidth = 100) -> RoleApp:
    model = ScriptedChatModel(replies=["One."])
    habits = AppHabits(text_width=text_width)
    return role_app(model, transcript, first=load_persona("ada"), habits=habits)


@pytest.mark.parametrize(
    ("columns", "text_width", "widest", "beside"),
    [
        (80, 100, 80, False),
        (130, 100, 100, False),
        (140, 100, 100, True),
        (220, 100, 100, True),
        (120, 60, 60, True),
        (220, "full", 220, False),
    ],
)
async def test_texts_are_in_the_middle_and_the_persona_beside_them(
    columns: int, text_width: TextWidth, widest: int, *, beside: bool, transcript: Transcript
) -> None:
    write_persona()
    app = chat_app(transcript, text_width)
    async with app.run_test(size=(columns, 30)) as pilot:
        await until(pilot, lambda: app.screen.query(Bubble))
        await pilot.pause(0.1)
        panel, bubble = app.screen.query_one(PersonaPanel), app.screen.query(Bubble).first()
        assert panel.display is beside
        room = columns - (panel.region.width if beside else 0)
        assert widest - 10 < bubble.region.width <= widest
        free = (bubble.region.x, room - bubble.region.right)
        assert abs(free[0] - free[1]) <= 3
        prompt, status = app.screen.query_one("#prompt"), app.screen.query_one(StatusLine)
        assert (prompt.region.x, prompt.region.right) == (bubble.region.x, bubble.region.right)
        status.show_message("Words.")
        await pilot.pause()
        words = bubble.query_one(".words")
        assert prompt.content_region.x == words.content_region.x == status.content_region.x
        if beside:
            assert "Ada is a mathematician." in shown(panel)


async def test_a_wider_window_and_another_setting_apply_at_once(transcript: Transcript) -> None:
    write_persona()
    app = chat_app(transcript)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.screen.query(Bubble))
        await pilot.resize_terminal(180, 30)
        await until(pilot, lambda: app.screen.query_one(PersonaPanel).display)
        await until(pilot, lambda: app.screen.query(Bubble).first().region.width == 100)
        await pilot.press("f2")
        await until(pilot, lambda: app.screen.query("#text-width Input"))
        app.screen.query_one("#text-width Input").focus()
        await pilot.press("backspace", "backspace", "backspace", *"full", "enter")
        await until(pilot, lambda: load_settings().text_width == "full")
        await pilot.press("escape")
        await until(
            pilot, lambda: [bubble for bubble in app.screen.query(Bubble) if bubble.region.width > 160]
        )
        assert not app.screen.query_one(PersonaPanel).display


async def test_the_portrait_is_as_large_as_the_panel(transcript: Transcript) -> None:
    out = BytesIO()
    Image.new("RGB", (200, 200), (200, 20, 20)).save(out, "PNG")
    path = write_persona(f"{ADA}portrait: ada.png\n")
    (path.parent / "ada.png").write_bytes(out.getvalue())
    app = chat_app(transcript)
    async with app.run_test(size=(220, 65)) as pilot:
        await until(pilot, lambda: app.screen.query("PersonaPanel .picture"))
        await pilot.pause(0.1)
        picture = app.screen.query_one("PersonaPanel .picture")
        assert picture.region.width >= 48
        assert picture.region.height >= 24


async def test_without_a_picture_the_panel_has_words_only(transcript: Transcript) -> None:
    write_persona(f"{ADA}portrait: missing.png\n")
    app = chat_app(transcript)
    async with app.run_test(size=(220, 65)) as pilot:
        await until(pilot, lambda: app.screen.query(PersonaPanel))
        await until(pilot, lambda: not app.screen.query_one("PersonaPanel Portrait", Portrait).display)
        assert "Ada is a mathematician." in shown(app.screen.query_one(PersonaPanel))


def shown(panel: PersonaPanel) -> str:
    return " ".join(str(part.render()) for part in panel.query(Static).results(Static))

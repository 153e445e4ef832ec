"""What is written can be read: the contrast of texts on all screens, in our themes and in the usual one."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.contrast import contrast, drawn_texts
from helpers.role_app import role_app
from textual.color import Color
from textual.pilot import Pilot
from textual.theme import BUILTIN_THEMES

from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import load_persona
from rolellm_agents.transcript import Transcript
from rolellm_tui.app import RoleApp
from rolellm_tui.widgets.common.status_line import StatusLine

LEAST = {"textual-dark": 4.5, "colour-blind": 4.5, "high-contrast": 7.0}
"""The least contrast of each theme."""
SAID = [
    "*He nods.* “It is the mud”, with `code`, a [link](http://a.example) and **weight**.\n\n> A quotation."
    "\n\n| what | why |\n|---|---|\n| mud | clay |\n\n"
    "```python\ndef clue(mud: str) -> int:\n    return 7  # mud\n```",
    "Another one.",
]


@pytest.fixture
def transcript(tmp_path: Path) -> Iterator[Transcript]:
    with Transcript(tmp_path / "t.db") as kept:
        yield kept


def test_the_formula_is_that_of_wcag() -> None:
    black, white = Color(0, 0, 0), Color(255, 255, 255)
    assert contrast(black, white) == pytest.approx(21)
    assert contrast(white, white) == pytest.approx(1)
    assert contrast(Color(118, 118, 118), white) == pytest.approx(4.54, abs=0.01)


INKS = ("primary", "secondary", "accent", "warning", "error", "success")
ALL_THEMES = [
    *(name for name, theme in BUILTIN_THEMES.items() if not theme.ansi),
    "colour-blind",
    "high-contrast",
]


@pytest.mark.parametrize("theme", ALL_THEMES)
def test_the_inks_of_the_style_sheets_can_be_read_on_their_papers(
    theme: str, transcript: Transcript
) -> None:
    app = role_app(ScriptedChatModel(replies=SAID), transcript, theme=theme)
    values = app.get_css_variables()
    faint: dict[str, float] = {}
    for paper_name in ("background", "surface"):
        paper = Color.parse(values[paper_name])
        raised = (
            paper + Color.parse(values["boost"]),
            paper + Color.parse(values["primary"]).with_alpha(0.25),
        )
        for ink_name in [*(f"text-{name}" for name in INKS), "foreground-muted"]:
            for one in (paper, *raised):
                ink = _ink(values[ink_name], one)
                if (found := contrast(ink, one)) < LEAST.get(theme, 4.5):
                    faint[f"{ink_name} on {paper_name}"] = round(found, 2)
    assert faint == {}


def _ink(value: str, paper: Color) -> Color:
    """The opaque colour of a text; `auto 60%` is black or white, whichever can be read."""
    if not value.startswith("auto"):
        return paper + Color.parse(value)
    return paper + paper.get_contrast_text(float(value.removeprefix("auto").strip(" %")) / 100)


async def test_all_texts_of_all_screens_can_be_read(transcript: Transcript) -> None:
    app = role_app(ScriptedChatModel(replies=SAID * 4), transcript, first=load_persona("sherlock-holmes"))
    faint: dict[str, str] = {}
    async with app.run_test(size=(150, 45)) as pilot:
        async for name in screens(pilot, app):
            for theme, least in LEAST.items():
                app.theme = theme
                await pilot.pause(0.05)
                for drawn in drawn_texts(app):
                    if drawn.contrast < least:
                        colours = f"{drawn.ink.hex} on {drawn.paper.hex}"
                        faint[f"{theme}, {name}: {drawn.text[:30]}"] = f"{drawn.contrast:.1f} {colours}"
    assert faint == {}


async def screens(pilot: Pilot[Any], app: RoleApp) -> AsyncIterator[str]:
    """Visit the screens."""
    await pilot.pause(0.2)
    await pilot.press(*"Who is it?", "enter")
    await pilot.pause(0.2)
    yield "chat"
    await pilot.press("up")
    app.screen.query_one(StatusLine).complain("Something is wrong.")
    await pilot.press("alt+up")
    await pilot.pause(0.2)
    yield "selected message"
    await pilot.press("escape", "ctrl+f", *"mud")
    await pilot.pause(0.2)
    yield "search"
    await pilot.press("escape", "escape")
    for key, name in (
        ("ctrl+o", "inspector"),
        ("ctrl+e", "edit"),
        ("f7", "note"),
        ("ctrl+t", "tree"),
        ("ctrl+d", "compare"),
        ("f5", "export"),
        ("ctrl+s", "conversations"),
        ("f2", "settings"),
        ("f12", "models"),
        ("f1", "keys"),
        ("ctrl+p", "palette"),
    ):
        await pilot.press(key)
        await pilot.pause(0.2)
        yield name
        await pilot.press("escape")
        await pilot.pause(0.1)
    await pilot.press("ctrl+l")
    await pilot.pause(0.2)
    yield "library"
    await pilot.press("f7")
    await pilot.pause(0.2)
    yield "scenes"

"""`rolellm chat --web` in a real Chromium: which keys reach the app."""

import sys
from pathlib import Path

import pytest
from helpers.devtools import ALT, SHIFT
from helpers.user_files import write_persona
from helpers.web_page import app_in_browser, typed

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")


@pytest.mark.process
async def test_keys_that_the_terminal_in_the_page_would_change_reach_the_app_as_they_are(
    tmp_path: Path,
) -> None:
    write_persona()
    async with app_in_browser(tmp_path / "browser", "ada", "--model", "scripted:Hi.") as page:
        page.sent.clear()
        for arrow in ("ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"):
            await page.press(arrow, ALT)
        await page.press("Enter", SHIFT)
        await page.value("0")

    assert typed(page) == ["\x1b[1;3D", "\x1b[1;3A", "\x1b[1;3C", "\x1b[1;3B", "\x1b[13;2u"]

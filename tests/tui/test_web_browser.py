"""`rolellm chat --web` in a real Chromium: which keys reach the app."""

import sys
from pathlib import Path

import pytest
from helpers.devtools import ALT, SHIFT, chromium
from helpers.user_files import write_persona
from helpers.web_app import rolellm_web

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")

OPENED = "document.body?.classList.contains('-first-byte')"


@pytest.mark.process
async def test_keys_that_the_terminal_in_the_page_would_change_reach_the_app_as_they_are(
    tmp_path: Path,
) -> None:
    write_persona()
    async with (
        rolellm_web("ada", "--model", "scripted:Hi.") as (_, link),
        chromium(link, tmp_path / "browser") as page,
    ):
        await page.until(OPENED)
        page.sent.clear()
        await page.press("ArrowLeft", 37, ALT)
        await page.press("ArrowUp", 38, ALT)
        await page.press("ArrowRight", 39, ALT)
        await page.press("ArrowDown", 40, ALT)
        await page.press("Enter", 13, SHIFT, "\r")
        await page.value("0")

    keys = [sent for sent in page.sent if not sent.startswith(("\x1b[?", "\x1b[<"))]
    assert keys == ["\x1b[1;3D", "\x1b[1;3A", "\x1b[1;3C", "\x1b[1;3B", "\x1b[13;2u"]

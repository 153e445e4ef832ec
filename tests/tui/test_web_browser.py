"""`rolellm chat --web` in a real Chromium: which keys reach the app."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from helpers.devtools import ALT, SHIFT, Page, chromium
from helpers.user_files import write_persona
from helpers.web_app import rolellm_web

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")

OPENED = "document.body?.classList.contains('-first-byte')"


@asynccontextmanager
async def app_in_browser(folder: Path, *arguments: str) -> AsyncIterator[Page]:
    """`rolellm chat … --web` in a browser, as soon as it draws."""
    async with rolellm_web(*arguments) as (_, link), chromium(folder) as page:
        await page.call("Network.enable")
        await page.open(link)
        await page.until(OPENED)
        yield page


def typed(page: Page) -> list[str]:
    """What the page has sent to the app as typed text, without the mouse and answers to queries."""
    told = [rest[0] for kind, *rest in map(json.loads, page.sent) if kind == "stdin"]
    return [one for one in told if not one.startswith(("\x1b[?", "\x1b[<"))]


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

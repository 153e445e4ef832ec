"""A tab of `rolellm chat --web` finds its chat again, in a real Chromium."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest
from helpers.devtools import Page, chromium
from helpers.user_files import write_models, write_persona
from helpers.web_app import rolellm_web, served, until
from helpers.web_page import OPENED, reach_terminals, shows

from rolellm_tui.web.server import this_program

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals"),
    pytest.mark.process,
]

TAB = "sessionStorage.getItem('tab')"
ARGUMENTS = ("chat", "ada", "--model", "quick", "--new")


@pytest.fixture(autouse=True)
def persona_and_model() -> None:
    write_persona()
    write_models('[models.quick]\nspec = "scripted:Nice to meet you."\n')


@asynccontextmanager
async def chat(folder: Path) -> AsyncIterator[tuple[Page, psutil.Process]]:
    """A page with a chat, and the server."""
    async with rolellm_web(*ARGUMENTS[1:]) as (server, link), chromium(folder) as page:
        await begin(page, link)
        yield page, psutil.Process(server.pid)


async def begin(page: Page, link: str) -> None:
    """Open the chat, say something, and leave something in the prompt."""
    await reach_terminals(page)
    await page.open(link)
    await shows(page, "Good day.")
    await page.call("Input.insertText", text="Hello there")
    await page.press("Enter")
    await shows(page, "Nice to meet you.")
    await page.call("Input.insertText", text="a draft")
    await shows(page, "a draft")


async def is_the_same(page: Page) -> None:
    """Wait until the chat is shown with its draft, which can be continued."""
    await shows(page, "Good day.", "Hello there", "Nice to meet you.", "a draft")
    await page.call("Input.insertText", text=" and more")
    await shows(page, "a draft and more")


async def reload(page: Page) -> None:
    """Reload the page, and wait for its terminal."""
    await page.value("window.isOld = true")
    await page.call("Page.reload")
    await page.until(f"!window.isOld && {OPENED}")


async def test_a_reloaded_tab_shows_the_same_app(tmp_path: Path) -> None:
    async with chat(tmp_path / "browser") as (page, server):
        tab, apps = await page.value(TAB), server.children()
        await reload(page)
        await is_the_same(page)

        assert await page.value(TAB) == tab
        assert server.children() == apps


async def test_a_tab_whose_app_has_ended_opens_the_same_chat_and_draft(tmp_path: Path) -> None:
    async with chat(tmp_path / "browser") as (page, server):
        await asyncio.sleep(1)  # a draft is saved after a pause
        (app,) = server.children()
        app.kill()
        await page.click("#again")
        await is_the_same(page)

        assert [one.pid for one in server.children()] != [app.pid]


async def test_a_lost_connection_comes_back_by_itself(tmp_path: Path) -> None:
    async with served(this_program(ARGUMENTS)) as (runner, door), chromium(tmp_path / "browser") as page:
        await begin(page, door.link)
        await page.value("window.isOld = true")
        assert runner.server is not None
        for connection in runner.server.connections:
            if connection.transport is not None:
                connection.transport.abort()
        await page.until(f"!window.isOld && {OPENED}")
        await is_the_same(page)


async def test_a_duplicated_tab_is_another_tab(tmp_path: Path) -> None:
    """Browsers copy the storage with the tab's id."""
    async with chat(tmp_path / "browser") as (page, server):
        tab = await page.value(TAB)
        await page.value("window.copy = window.open(location.href), 0")
        await page.until(f"window.copy.{OPENED}")
        await until(lambda: len(server.children()) == 2)

        assert await page.value(f"window.copy.{TAB}") not in ("", tab)
        assert await page.value(TAB) == tab
        assert not await page.value("document.body.classList.contains('-closed')")
        await page.value("window.copy.close()")
        await is_the_same(page)

"""Which process belongs to which browser tab, with an app that only tells what it hears."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import psutil
import pytest
from helpers.web_app import PATIENCE, served, until

from rolellm_tui.web import tabs
from rolellm_tui.web.door import Door

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="runs a POSIX shell")

APP = """
import json, os, sys
def send(kind, data):
    os.write(1, kind + len(data).to_bytes(4, "big") + data)
os.write(1, b"__GANGLION__\\n")
send(b"D", f"begun at [{os.environ['ROLELLM_PLACE']}] by {os.getpid()};".encode())
while kind := sys.stdin.buffer.read(1):
    data = sys.stdin.buffer.read(int.from_bytes(sys.stdin.buffer.read(4), "big"))
    if kind == b"M" and json.loads(data)["type"] == "quit":
        break
    if kind == b"M":
        send(b"D", json.loads(data)["type"].encode() + b";")
    elif data == b"exit":
        send(b"M", b'{"type": "exit"}')
    else:
        send(b"M", json.dumps({"type": "place", "place": data.decode()}).encode())
        send(b"D", b"went to " + data + b";")
"""
ONE, OTHER = "1" * 32, "2" * 32


@asynccontextmanager
async def server() -> AsyncIterator[tuple[Door, aiohttp.ClientSession]]:
    """A server of the app, and a browser that may come in."""
    async with (
        served((sys.executable, "-c", APP)) as (_, door),
        aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser,
    ):
        await browser.get(door.link)
        yield door, browser


class Tab:
    """A page that shows a tab."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket

    async def shows(self, text: str) -> str:
        """Wait until the app has drawn a text; returns all that it has drawn until then."""
        drawn = ""
        async with asyncio.timeout(PATIENCE):
            while text not in drawn:
                drawn += (await self.socket.receive_bytes()).decode()
        return drawn

    async def type(self, text: str) -> None:
        await self.socket.send_json(["stdin", text])


async def opened(where: tuple[Door, aiohttp.ClientSession], name: str) -> Tab:
    """A new page of a tab."""
    door, browser = where
    url = f"{door.address}ws?width=90&height=30&tab={name}"
    return Tab(await browser.ws_connect(url, origin=door.origin))


def apps() -> list[psutil.Process]:
    """The processes with the app that run."""
    return [one for one in psutil.Process().children() if APP in _command(one)]


def _command(process: psutil.Process) -> list[str]:
    """The command line of a process; empty once it has ended, before or after it is waited for."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


async def gone_to(page: Tab, place: str) -> None:
    """Go somewhere, and wait until the server knows."""
    await page.type(place)
    await page.shows(f"went to {place};")


async def test_the_next_page_of_a_tab_shows_its_app() -> None:
    async with server() as where:
        page = await opened(where, ONE)
        await page.shows("begun at []")
        before = apps()
        await page.socket.close()
        page = await opened(where, ONE)

        assert "begun" not in await page.shows("show_again;")
        assert apps() == before
    await until(lambda: not apps())


@pytest.mark.parametrize("ending", ["exit", "kill"])
async def test_an_app_that_has_ended_begins_again_at_the_same_place(ending: str) -> None:
    async with server() as where:
        page = await opened(where, ONE)
        await page.shows("begun at []")
        await gone_to(page, "the Pacific")
        if ending == "exit":
            await page.type("exit")
        else:
            apps()[0].kill()
        closed = await page.socket.receive()
        assert (closed.type, closed.data) == (aiohttp.WSMsgType.CLOSE, 1000)
        page = await opened(where, ONE)

        await page.shows("begun at [the Pacific]")
        assert len(apps()) == 1


async def test_the_last_page_with_an_id_shows_the_app_and_the_one_before_is_told() -> None:
    async with server() as where:
        first = await opened(where, ONE)
        await first.shows("begun")
        second = await opened(where, ONE)
        closed = await first.socket.receive()
        await second.shows("show_again;")
        await gone_to(second, "the Pacific")

        assert (closed.type, closed.data) == (aiohttp.WSMsgType.CLOSE, 4001)
        assert len(apps()) == 1


async def test_tabs_with_other_ids_have_other_apps() -> None:
    async with server() as where:
        for name in (ONE, OTHER):
            await (await opened(where, name)).shows("begun at []")

        assert len(apps()) == 2


async def test_an_app_waits_for_some_time_only_and_its_place_is_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tabs, "_GRACE", 0.05)
    async with server() as where:
        page = await opened(where, ONE)
        await page.shows("begun")
        await gone_to(page, "the Pacific")
        await page.socket.close()
        await until(lambda: not apps())

        await (await opened(where, ONE)).shows("begun at [the Pacific]")


async def test_few_apps_wait_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tabs, "_MOST_WAITING", 1)
    async with server() as where:
        first, second = await opened(where, ONE), await opened(where, OTHER)
        await first.shows("begun")
        await second.shows("begun")
        await first.socket.close()
        await second.socket.close()
        await until(lambda: len(apps()) == 1)

        assert "begun" not in await (await opened(where, OTHER)).shows("show_again;")


@pytest.mark.parametrize("name", ["", "1", ONE.replace("1", "g"), f"{ONE}0", "../" + ONE])
async def test_an_app_without_an_id_ends_with_its_page(name: str) -> None:
    async with server() as where:
        page = await opened(where, name)
        await page.shows("begun at []")
        await page.socket.close()
        await until(lambda: not apps())

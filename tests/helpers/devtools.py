"""A real Chromium, driven over the DevTools protocol: keys, clicks, and what the page sends."""

import asyncio
import json
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

PATIENCE = 60.0
ALT, SHIFT = 1, 8


class Page:
    """A tab of the browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._calls = 0
        self.sent: list[str] = []
        """What the page has sent to the app as typed text."""

    async def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """Call a method of the protocol; what the page sends meanwhile is noted."""
        self._calls += 1
        await self._socket.send_json({"id": self._calls, "method": method, "params": parameters})
        async with asyncio.timeout(PATIENCE):
            while True:
                told = await self._socket.receive_json()
                if told.get("method") == "Network.webSocketFrameSent":
                    self._note(told["params"]["response"]["payloadData"])
                if told.get("id") == self._calls:
                    assert "error" not in told, told
                    return dict(told["result"])

    def _note(self, frame: str) -> None:
        kind, *rest = json.loads(frame)
        if kind == "stdin":
            self.sent.append(rest[0])

    async def press(self, key: str, code: int, held: int = 0, text: str = "") -> None:
        """Press and release a key, with its Windows key code and the modifiers that are held."""
        told = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": held}
        await self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **told)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **told)

    async def value(self, script: str) -> Any:
        """The value of an expression in the page."""
        return (await self.call("Runtime.evaluate", expression=script, returnByValue=True))["result"].get(
            "value"
        )

    async def until(self, script: str) -> None:
        """Wait until an expression in the page is true."""
        deadline = time.monotonic() + PATIENCE
        while not await self.value(script):
            assert time.monotonic() < deadline, script
            await asyncio.sleep(0.05)


@asynccontextmanager
async def chromium(link: str, folder: Path) -> AsyncIterator[Page]:
    """Open a link in a browser that has never been used; skipped where there is no Chromium."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no Chromium")
    process = await asyncio.create_subprocess_exec(
        *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"),
        *("--no-first-run", f"--user-data-dir={folder}", "about:blank"),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        port = await _port(folder / "DevToolsActivePort")
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json/list") as listed:
                pages = [one for one in await listed.json() if one["type"] == "page"]
            async with session.ws_connect(pages[0]["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                page = Page(socket)
                await page.call("Network.enable")
                await page.call("Page.navigate", url=link)
                yield page
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _port(file: Path) -> str:
    deadline = time.monotonic() + PATIENCE
    while not (told := await asyncio.to_thread(_lines, file)):
        assert time.monotonic() < deadline, "the browser does not start"
        await asyncio.sleep(0.05)
    return told[0]


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").split() if file.exists() else []

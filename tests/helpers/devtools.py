"""A page in a real Chromium, used with mouse and keyboard over the DevTools protocol."""

import asyncio
import base64
import itertools
import json
import os
import shutil
import string
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

PATIENCE = 60.0
"""Seconds until something must be on the page."""
_PAUSE = 0.1
ALT, CTRL, SHIFT = 1, 2, 8
"""Keys that are held while another is pressed; they can be added."""
_CODES = {
    "Backspace": 8,
    "Tab": 9,
    "Enter": 13,
    "Escape": 27,
    " ": 32,
    "PageUp": 33,
    "PageDown": 34,
    "End": 35,
    "Home": 36,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
    **{"Insert": 45, "Delete": 46} | {f"F{number}": 111 + number for number in range(1, 13)},
}
"""The Windows codes of keys that have a name."""
_PLAIN = frozenset(string.ascii_letters + string.digits)
"""Characters whose Windows code is that of the capital letter on each keyboard."""

_FIND = """(selector, text) => [...document.querySelectorAll(selector)].find((one) => {
  const box = one.getBoundingClientRect();
  return box.width && box.height && getComputedStyle(one).visibility !== "hidden"
    && (!text || one.innerText.includes(text));
})"""
_PLACE = f"""async (selector, text) => {{
  const one = ({_FIND})(selector, text);
  if (!one) return null;
  one.scrollIntoView({{block: "center", inline: "center", behavior: "instant"}});
  const before = one.getBoundingClientRect();
  await new Promise((done) => setTimeout(done, 120));
  const box = one.getBoundingClientRect();
  const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
  const top = document.elementFromPoint(x, y);
  const reached = top && (one.contains(top) || top.contains(one));
  return before.x === box.x && before.y === box.y && reached ? [x, y] : null;
}}"""
"""Where an element is, once it stands still and nothing covers it."""


def _code(key: str) -> str:
    """The place of a key on a keyboard, as in JavaScript."""
    if len(key) > 1:
        return key
    if key not in _PLAIN:
        return "Space" if key == " " else ""
    return f"Digit{key}" if key.isdigit() else f"Key{key.upper()}"


def _called(function: str, *arguments: str) -> str:
    return f"({function})({', '.join(map(json.dumps, arguments))})"


class Page:
    """A page that a person could use: what is clicked or typed into must be visible and reachable."""

    def __init__(self, connection: aiohttp.ClientWebSocketResponse) -> None:
        """Wrap the connection to a page."""
        self._connection = connection
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.complaints: list[str] = []
        """What the page wrote to its console as an error."""
        self.sent: list[str] = []
        """What the page has sent over WebSockets, once `Network.enable` was called."""

    async def listen(self) -> None:
        """Receive what the browser says, until the connection ends."""
        async for received in self._connection:
            told = json.loads(received.data)
            if "id" in told:
                self._waiting.pop(told["id"]).set_result(told)
            elif told["method"] == "Page.javascriptDialogOpening":
                await self._connection.send_json(
                    {"id": 0, "method": "Page.handleJavaScriptDialog", "params": {"accept": True}}
                )
                self._waiting[0] = asyncio.get_running_loop().create_future()
            elif told["method"] == "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(told["params"]["exceptionDetails"])[:2000])
            elif told["method"] == "Network.webSocketFrameSent":
                self.sent.append(told["params"]["response"]["payloadData"])

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """One command of the protocol, and its result."""
        number = next(self._numbers)
        answer = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        await self._connection.send_json({"id": number, "method": method, "params": params})
        async with asyncio.timeout(PATIENCE):
            told = await answer
        assert "error" not in told, (method, told["error"])
        result: dict[str, Any] = told["result"]
        return result

    async def open(self, url: str) -> None:
        """Go to an address."""
        await self.call("Page.navigate", url=url)

    async def value(self, expression: str) -> Any:
        """The value of a JavaScript expression; promises are awaited."""
        done = await self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    async def until(self, expression: str, patience: float = PATIENCE) -> Any:
        """Wait until an expression is true, also while the page loads; returns its value."""
        ends = time.monotonic() + patience
        found: Any = None
        while time.monotonic() < ends:
            with suppress(AssertionError):  # the page was replaced meanwhile
                found = await self.value(expression)
                if found:
                    return found
            await asyncio.sleep(_PAUSE)
        said = await self.value("document.body.innerText.slice(0, 2000)")
        raise AssertionError(f"never true: {expression}\nlast: {found!r}\nThe page says:\n{said}")

    async def shows(self, selector: str, text: str = "", patience: float = PATIENCE) -> None:
        """Wait until something is visible."""
        await self.until(f"!!{_called(_FIND, selector, text)}", patience)

    async def click(self, selector: str, text: str = "") -> None:
        """Click with the mouse on the first visible element of a selector that contains a text."""
        await self.click_at(*await self.until(_called(_PLACE, selector, text)))

    async def click_at(self, x: float, y: float) -> None:
        """Click with the mouse at a place of the window, in pixels."""
        mouse = {"x": x, "y": y, "button": "left", "clickCount": 1}
        await self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        await self.call("Input.dispatchMouseEvent", type="mousePressed", **mouse)
        await self.call("Input.dispatchMouseEvent", type="mouseReleased", **mouse)

    async def write(self, selector: str, text: str) -> None:
        """Replace what stands in a field."""
        await self.click(selector)
        await self.value("document.execCommand('selectAll')")
        await self.call("Input.insertText", text=text)

    async def press(self, key: str, held: int = 0) -> None:
        """Press a key and release it.

        Args:
            key: a letter, or the key's name in JavaScript.
            held: `ALT`, `CTRL` and `SHIFT`, added.
        """
        named = {"key": key, "code": _code(key), "modifiers": held}
        named["windowsVirtualKeyCode"] = _CODES.get(key, ord(key.upper()) if key in _PLAIN else 0)
        text = "\r" if key == "Enter" else key if len(key) == 1 else ""
        typed = {"text": text} if text and not held & (ALT | CTRL) else {}
        await self.call("Input.dispatchKeyEvent", type="keyDown", **named, **typed)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **named)

    async def burst(self, *keys: str) -> None:
        """Press keys so fast that the page has not yet answered to one when the next comes."""
        await asyncio.gather(*map(self.press, keys))

    async def choose(self, selector: str, value: str) -> None:
        """Choose an option of a list, which the browser draws outside the page."""
        wanted, option = json.dumps(selector), json.dumps(value)
        has = (
            f"[...(document.querySelector({wanted})?.options ?? [])].some((one) => one.value === {option})"
        )
        await self.until(has)
        await self.value(
            f"(() => {{ const one = document.querySelector({wanted}); one.value = {option};"
            " one.dispatchEvent(new Event('change', {bubbles: true})); })()"
        )

    async def upload(self, selector: str, file: Path) -> None:
        """Give a file to a field for files."""
        root = await self.call("DOM.getDocument")
        node = await self.call("DOM.querySelector", nodeId=root["root"]["nodeId"], selector=selector)
        await self.call("DOM.setFileInputFiles", nodeId=node["nodeId"], files=[str(file)])

    async def picture(self, file: Path) -> None:
        """Write a screenshot as PNG."""
        taken = await self.call("Page.captureScreenshot", format="png")
        await asyncio.to_thread(file.write_bytes, base64.b64decode(taken["data"]))


@asynccontextmanager
async def chromium(folder: Path, width: int = 1100, height: int = 760) -> AsyncIterator[Page]:
    """An empty page in a browser of its own; skipped where there is no Chromium.

    Args:
        folder: for the browser's files.
        width: of the window, in pixels.
        height: of the window, in pixels.
    """
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("there is no Chromium")
    port_file = folder / "DevToolsActivePort"
    port_file.unlink(missing_ok=True)  # of an earlier browser in this folder
    process = await asyncio.create_subprocess_exec(
        program,
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--lang=en-US",
        "--remote-debugging-port=0",
        f"--window-size={width},{height}",
        f"--user-data-dir={folder}",
        "about:blank",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        port = await _port(port_file)
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json/list") as listed:
                (address,) = [
                    one["webSocketDebuggerUrl"] for one in await listed.json() if one["type"] == "page"
                ]
            async with session.ws_connect(address, max_msg_size=0) as connection:
                page = Page(connection)
                listening = asyncio.create_task(page.listen())
                for domain in ("Page", "Runtime"):
                    await page.call(f"{domain}.enable")
                await page.call(
                    "Emulation.setDeviceMetricsOverride",
                    width=width,
                    height=height,
                    deviceScaleFactor=1,
                    mobile=False,
                )
                yield page
                listening.cancel()
    finally:
        process.terminate()
        await process.wait()


async def _port(file: Path) -> int:
    """The port that a browser has chosen."""
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        with suppress(FileNotFoundError):
            if lines := (await asyncio.to_thread(file.read_text)).splitlines():
                return int(lines[0])
        await asyncio.sleep(_PAUSE)
    raise AssertionError("Chromium did not start")


async def picture_of(page: Page, name: str) -> None:
    """Write a picture for the documentation if the folder for them is in `CLIENT_PICTURES`."""
    if folder := os.environ.get("CLIENT_PICTURES"):
        await page.picture(Path(folder) / f"{name}.png")

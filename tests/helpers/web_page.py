"""The app in a browser tab: what its terminal shows, and what the page sends."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from helpers.devtools import Page, chromium
from helpers.web_app import rolellm_web

OPENED = "document.body?.classList.contains('-first-byte')"
# The script of the page keeps its terminal to itself; it sets `bufferedBytes` of the object that has it.
_REACH_TERMINAL = """Object.defineProperty(Object.prototype, "bufferedBytes", {
  configurable: true,
  set(value) {
    window.shown = this;
    Object.defineProperty(this, "bufferedBytes", {value, writable: true});
  },
});"""
_SCREEN = """(() => {
  if (!window.shown) return "";
  const {rows, cols, buffer: {active}} = window.shown.terminal;
  return [...Array(rows).keys()]
    .map((row) => active.getLine(active.baseY + row)?.translateToString(true, 0, cols) ?? "").join("\\n");
})()"""


@asynccontextmanager
async def app_in_browser(folder: Path, *arguments: str) -> AsyncIterator[Page]:
    """`rolellm chat … --web` in a browser, as soon as it draws."""
    async with rolellm_web(*arguments) as (_, link), chromium(folder) as page:
        await reach_terminals(page)
        await page.open(link)
        await page.until(OPENED)
        yield page


async def reach_terminals(page: Page) -> None:
    """Make the terminals of pages that are opened from now on readable, and note what pages send."""
    await page.call("Network.enable")
    await page.call("Page.addScriptToEvaluateOnNewDocument", source=_REACH_TERMINAL)


async def screen(page: Page) -> str:
    """The text that the terminal shows."""
    return str(await page.value(_SCREEN))


async def shows(page: Page, *texts: str) -> None:
    """Wait until the terminal shows all of these texts."""
    for text in texts:
        try:
            await page.until(f"{_SCREEN}.includes({json.dumps(text)})")
        except AssertionError:
            raise AssertionError(f"{text!r} is not shown:\n{await screen(page)}") from None


async def place_of(page: Page, text: str) -> tuple[float, float]:
    """The place of a text of narrow letters in the terminal, in pixels."""
    lines = (await screen(page)).split("\n")
    row = next(row for row, line in enumerate(lines) if text in line)
    box = await page.value(
        "(() => { const box = document.querySelector('.xterm-screen').getBoundingClientRect();"
        " const {cols, rows} = shown.terminal;"
        " return [box.left, box.top, box.width / cols, box.height / rows]; })()"
    )
    left, top, width, height = box
    return left + (lines[row].index(text) + 0.5) * width, top + (row + 0.5) * height


def typed(page: Page) -> list[str]:
    """What the page has sent to the app as typed text, without the mouse and answers to queries."""
    told = [rest[0] for kind, *rest in map(json.loads, page.sent) if kind == "stdin"]
    return [one for one in told if not one.startswith(("\x1b[?", "\x1b[<"))]

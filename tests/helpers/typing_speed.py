"""Type letters into the app in a real browser: are any lost, and how long does each take until it is drawn?

`python tests/helpers/typing_speed.py [LETTERS]` types that many letters (10,000 unless told) twice: 20 a
second, while answers stream, and in bursts, each line as fast as the browser takes it. It needs Chromium.
"""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from statistics import quantiles

from rapidfuzz.distance import LCSseq

sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers.devtools import Page
from helpers.user_files import conversation_ids, kept, write_models, write_persona
from helpers.web_page import app_in_browser, screen, shows
from rolellm_agents.persona import load_persona

Typing = Callable[[Page, str], Awaitable[None]]

_RATE = 20
"""Letters in a second: 240 words a minute, more than the fastest typists."""
_LINE = 100
"""A line is sent when it has as many letters: more than one row of the prompt."""
_ANSWERING = "esc Stop"
_MODELS = f"""
[models.streaming]
spec = "scripted:{" ".join(["Nice to meet you."] * 25)}"
seconds_per_word = 0.05
[models.quick]
spec = "scripted:Nice to meet you."
"""
# `seen` is what the prompt shows of the letters that were typed since the last Enter, without spaces, which
# cannot be seen. A prompt that still shows the line before does not show how these letters begin.
_WATCH = """(() => {
  const terminal = shown.terminal;
  let typed = "", pressed = [], drawn = [];
  window.latencies = [];
  window.isDrawn = () => drawn.length === typed.length;
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter") [typed, pressed, drawn] = ["", [], []];
    if (event.key.length > 1 || event.key === " ") return;
    typed += event.key;
    pressed.push(event.timeStamp);
  }, {capture: true});
  terminal.onRender(() => {
    const seen = [...Array(terminal.rows).keys()]
      .map((row) => terminal.buffer.active.getLine(row).translateToString(true))
      .filter((line) => /^ *│/.test(line)).map((line) => line.replace(/[│ ]/g, "")).join("");
    if (!typed.startsWith(seen)) return;
    while (drawn.length < seen.length) {
      latencies.push(performance.now() - pressed[drawn.length]);
      drawn.push(true);
    }
  });
})()"""


def main(letters: int) -> None:
    """Type as many letters in both ways, and print what was found."""
    for title, model, typing in (
        (f"{_RATE} a second, while answers stream", "streaming", _at_a_rate),
        ("in bursts", "quick", _in_bursts),
    ):
        with tempfile.TemporaryDirectory(prefix="rolellm-typing-") as folder:
            os.environ["ROLELLM_HOME"] = str(Path(folder) / "home")
            write_persona()
            write_models(_MODELS)
            asyncio.run(_measure(Path(folder) / "browser", title, model, typing, letters))


async def _measure(folder: Path, title: str, model: str, typing: Typing, letters: int) -> None:
    lines = list(_lines(letters))
    async with app_in_browser(folder, "ada", "--model", model, "--new") as page:
        await shows(page, "Good day.", "Say something")
        await page.value(_WATCH)
        spent = 0.0
        for number, line in enumerate(lines, start=1):
            began = time.monotonic()
            await typing(page, line)
            spent += time.monotonic() - began
            await _send(page, number)
        times = await page.value("latencies")
    typed, arrived = "\n".join(lines), "\n".join(_said())
    same = LCSseq.similarity(typed, arrived)
    count = sum(map(len, lines))
    print(f"{title}: {count:,} letters in {len(lines)} lines, {count / spent:.0f} a second")
    print(f"  lost {len(typed) - same}, added {len(arrived) - same}")
    percentiles = quantiles(times, n=100, method="inclusive")
    at = ", ".join(f"p{percent} {percentiles[percent - 1]:.0f} ms" for percent in (50, 95, 99))
    print(f"  key until drawn: {at}, most {max(times):.0f} ms ({len(times):,} letters without spaces)")


def _lines(letters: int) -> Iterator[str]:
    """Lines of words that characters are asked, until they have as many letters."""
    asked = [pair.user for pair in load_persona("sherlock-holmes").demonstrations]
    words = [word for line in asked for word in line.split()]
    chance = Random(7)
    while letters > 0:
        line = ""
        while len(line) < min(_LINE, letters):
            line = f"{line} {chance.choice(words)}".strip()
        line = line[:letters].rstrip() or "x"
        letters -= len(line)
        yield line


async def _at_a_rate(page: Page, line: str) -> None:
    began = time.monotonic()
    for number, letter in enumerate(line):
        await asyncio.sleep(began + number / _RATE - time.monotonic())
        await page.press(letter)


async def _in_bursts(page: Page, line: str) -> None:
    await page.burst(*line)


async def _send(page: Page, count: int) -> None:
    """Send what is in the prompt, once it is drawn and the answer before has ended.

    Args:
        page: with the app.
        count: how many lines the user has said then.
    """
    with suppress(AssertionError):  # letters are lost, which the comparison tells
        await page.until("isDrawn()", patience=10)
    while len(_said()) < count:
        if _ANSWERING not in await screen(page):
            await page.press("Enter")
        await asyncio.sleep(0.2)


def _said() -> list[str]:
    """What the user has said."""
    return [one.text for chat in conversation_ids() for one in kept(chat) if one.speaker == "user"]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)

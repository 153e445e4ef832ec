"""What is typed, pasted, composed and copied in a real Chromium arrives as it is."""

import asyncio
import random
import statistics
import string
import sys
import time
from pathlib import Path

import pytest
from helpers.devtools import CTRL, SHIFT, Page
from helpers.user_files import conversation_ids, kept, write_models, write_persona
from helpers.web_page import app_in_browser, place_of, screen, shows

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals"),
    pytest.mark.process,
]

FAMILY = "👩‍👩‍👧"
PERSIAN = "می‌خواهم"
PASTED = f"First line {FAMILY}\nsecond line {PERSIAN}\nthird: 福尔摩斯"
# `drawn` becomes the time until the lines of the prompt, which are in a frame, have another text.
MEASURE = """(() => {
  const terminal = shown.terminal;
  const prompt = () => [...Array(terminal.rows).keys()]
    .map((row) => terminal.buffer.active.getLine(row).translateToString(true))
    .filter((line) => /^ *│/.test(line)).join();
  const before = prompt();
  let pressed = 0;
  document.addEventListener("keydown", () => pressed = performance.now(), {once: true, capture: true});
  window.drawn = new Promise((tell) => {
    const listening = terminal.onRender(() => {
      if (!pressed || prompt() === before) return;
      listening.dispose();
      tell(performance.now() - pressed);
    });
  });
})()"""
CLIPBOARD = "navigator.clipboard.readText()"


@pytest.fixture(autouse=True)
def persona_and_model() -> None:
    write_persona()
    write_models('[models.quick]\nspec = "scripted:Nice to meet you, `code` and all."\n')


async def send(page: Page, text: str) -> None:
    """Send what is in the prompt, as soon as the answer before has ended, and compare it."""
    before = len(said())
    while len(said()) == before:
        await page.press("Enter")
        await asyncio.sleep(0.5)
    assert said()[-1] == text


def said() -> list[str]:
    """What the user has said."""
    return [one.text for chat in conversation_ids() for one in kept(chat) if one.speaker == "user"]


async def paste(page: Page, text: str) -> None:
    """Paste a text as the browser does for Ctrl+V."""
    await page.value(
        "(text => { const data = new DataTransfer(); data.setData('text/plain', text);"
        " document.querySelector('.xterm-helper-textarea').dispatchEvent("
        "new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true})); })"
        f"({text!r})"
    )


async def test_joiners_pastes_and_compositions_arrive_as_they_are(tmp_path: Path) -> None:
    async with app_in_browser(tmp_path / "browser", "ada", "--model", "quick", "--new") as page:
        await shows(page, "Good day.", "Say something")
        for text in (FAMILY, PERSIAN):
            await page.call("Input.insertText", text=text)
            await send(page, text)
        await paste(page, PASTED)
        await shows(page, "third: ")
        await send(page, PASTED)
        for part in ("n", "ni", "ni h", "ni hao", "你好"):
            await page.call(
                "Input.imeSetComposition", text=part, selectionStart=len(part), selectionEnd=len(part)
            )
        await page.call("Input.insertText", text="你好")
        await shows(page, "│ 你好")
        await send(page, "你好")


async def test_one_clicks_resizes_and_copies(tmp_path: Path) -> None:
    async with app_in_browser(tmp_path / "browser", "ada", "--model", "quick", "--new") as page:
        await page.call(
            "Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"]
        )
        await shows(page, "Good day.")
        await page.call("Input.insertText", text="Hello")
        await send(page, "Hello")
        await shows(page, "Nice to meet you, code")
        wide = await page.value("shown.terminal.cols")
        await page.call(
            "Emulation.setDeviceMetricsOverride", width=700, height=500, deviceScaleFactor=1, mobile=False
        )
        await page.until(f"shown.terminal.cols < {wide}")
        await shows(page, "Nice to meet you, code")

        while "↑↓ select" not in await screen(page):  # not before it is drawn for the new size
            await page.click_at(*await place_of(page, "Nice to"))
            await asyncio.sleep(0.5)
        await page.press("c", CTRL)
        await page.until(f"{CLIPBOARD}.then(text => text === 'Nice to meet you, `code` and all.')")
        await page.press("Enter")
        await shows(page, "Copy a part")
        for _ in range(4):
            await page.press("ArrowRight", SHIFT)
        await page.press("Enter")
        await page.until(f"{CLIPBOARD}.then(text => text === 'Nice')")


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_no_letter_of_a_thousand_is_lost_while_an_answer_streams(tmp_path: Path) -> None:
    """It also prints how long it takes from a key press until the letter is drawn."""
    words = " ".join(f"word{number}" for number in range(20_000))
    write_models(f'[models.quick]\nspec = "scripted:{words}"\nseconds_per_word = 0.05\n')
    letters = [random.Random(1).choice(string.ascii_letters + "  ") for _ in range(1_000)]
    async with app_in_browser(tmp_path / "browser", "ada", "--model", "quick", "--new") as page:
        await shows(page, "Good day.")
        idle = [await latency(page, letter) for letter in "abcdefghijklmnopqrst"]
        await page.press("Enter")
        await shows(page, "word5")
        streaming = [await latency(page, letter) for letter in "abcdefghijklmnopqrst"]
        began = time.monotonic()
        for letter in letters:
            await page.press(letter)
        seconds = time.monotonic() - began
        await page.press("Escape")
        await send(page, "abcdefghijklmnopqrst" + "".join(letters).rstrip())
    print(f"\nkey to drawn: {figures(idle)} idle, {figures(streaming)} while an answer streams")
    print(f"{len(letters)} letters in {seconds:.0f} s, none lost")


async def latency(page: Page, letter: str) -> float:
    """Milliseconds from a key press until the terminal has drawn the letter in the prompt."""
    await page.value(MEASURE)
    await page.press(letter)
    return float(await page.value("window.drawn"))


def figures(milliseconds: list[float]) -> str:
    return f"median {statistics.median(milliseconds):.0f} ms, most {max(milliseconds):.0f} ms"

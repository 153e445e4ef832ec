"""What is typed, pasted, composed and copied in a real Chromium arrives as it is."""

import asyncio
import sys
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


async def test_no_letter_is_lost_however_fast_one_types(tmp_path: Path) -> None:
    lines = [
        "Don't go - not yet (it is only seven, isn't it?), and take 2 of the 3 lamps: #1 & \"b\".",
        "The letters of this line come so fast that nobody types like this, except a program. " * 3,
        "What is typed while the answer to a line is drawn belongs to the next; é, ß and 字 do too.",
    ]
    async with app_in_browser(tmp_path / "browser", "ada", "--model", "quick", "--new") as page:
        await shows(page, "Good day.", "Say something")
        for letter in lines[0]:
            await page.press(letter)
        await page.burst("Enter", *lines[1].rstrip())
        await shows(page, "Nice to meet you", "except a program.")
        await send(page, lines[1].rstrip())
        await page.burst(*lines[2])
        await send(page, lines[2])
    assert said() == [line.rstrip() for line in lines]


async def test_escape_is_no_alt_if_a_letter_follows_at_once(tmp_path: Path) -> None:
    words = " ".join(f"word{number}" for number in range(20_000))
    write_models(f'[models.quick]\nspec = "scripted:{words}"\nseconds_per_word = 0.05\n')
    async with app_in_browser(tmp_path / "browser", "ada", "--model", "quick", "--new") as page:
        await shows(page, "Good day.", "Say something")
        await page.burst(*"Hello", "Enter")
        await shows(page, "word5")
        await page.burst("Escape", *"and so on")
        await shows(page, "cut off", "│ and so on")


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

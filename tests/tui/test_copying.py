"""Copying from the chat: whole messages, parts by mouse and by keys, and blocks of code."""

import shutil
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from helpers.piloting import type_fast
from helpers.role_app import answering, bubbles, prompt, role_app, say, screen, shown, status, until
from helpers.terminal import terminal
from helpers.user_files import write_models, write_persona
from textual.pilot import Pilot
from textual.widgets import TextArea

from rolellm_agents.config.paths import user_paths
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona, load_persona
from rolellm_agents.transcript import Transcript
from rolellm_tui.app import RoleApp
from rolellm_tui.widgets.chat.bubble import Bubble
from rolellm_tui.widgets.chat.message_text import MessageText

CODE = "Try **this**:\n\n```py\nprint(1)\nprint(2)\n```\n\nor that:\n\n```\nls -l\n```"
LONG = " ".join(f"word{number}" for number in range(60))


@pytest.fixture
def transcript() -> Iterator[Transcript]:
    with Transcript(user_paths().transcript) as opened:
        yield opened


@pytest.fixture
def ada() -> Persona:
    write_persona()
    return load_persona("ada")


def app_of(ada: Persona, transcript: Transcript, reply: str) -> RoleApp:
    return role_app(ScriptedChatModel(replies=[reply]), transcript, first=ada)


async def answered(pilot: Pilot[Any]) -> MessageText:
    """Have an answer, and return its text."""
    await until(pilot, lambda: screen(pilot) == "ChatScreen" and prompt(pilot).has_focus)
    await say(pilot, "Hello.")
    await until(pilot, lambda: len(bubbles(pilot)) == 3 and not answering(pilot))
    return pilot.app.screen.query(Bubble).last().query_one(MessageText)


def selected(area: TextArea, text: str) -> bool:
    return area.selected_text == text


async def copy_mode(pilot: Pilot[Any]) -> TextArea:
    """Select the answer and open copy mode."""
    await pilot.press("alt+up", "enter")
    await until(pilot, lambda: screen(pilot) == "CopyScreen")
    return pilot.app.screen.query_one(TextArea)


@pytest.mark.core
async def test_a_part_is_selected_with_the_keys_and_copied(ada: Persona, transcript: Transcript) -> None:
    async with app_of(ada, transcript, "One **two** three.").run_test() as pilot:
        await answered(pilot)
        await copy_mode(pilot)
        await pilot.press("ctrl+right", "right", *["ctrl+shift+right"] * 2, *["shift+right"] * 2, "enter")
        await until(pilot, lambda: screen(pilot) == "ChatScreen")
        assert pilot.app.clipboard == "**two**"
        await until(pilot, lambda: status(pilot) == "Copied “**two**”.")


async def test_enter_waits_for_the_selection_of_a_fast_typist(ada: Persona, transcript: Transcript) -> None:
    async with app_of(ada, transcript, "One **two** three.").run_test() as pilot:
        await answered(pilot)
        await copy_mode(pilot)
        await type_fast(pilot, *["shift+right"] * 3, "enter")
        await until(pilot, lambda: screen(pilot) == "ChatScreen")
        assert pilot.app.clipboard == "One"


async def test_without_a_selection_the_line_is_copied(ada: Persona, transcript: Transcript) -> None:
    async with app_of(ada, transcript, f"First.\n\n{LONG}\n").run_test() as pilot:
        await answered(pilot)
        await copy_mode(pilot)
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: screen(pilot) == "ChatScreen")
        assert pilot.app.clipboard == LONG
        await until(pilot, lambda: status(pilot) == f"Copied {len(LONG)} characters.")


async def test_tab_goes_through_the_blocks_of_code(ada: Persona, transcript: Transcript) -> None:
    async with app_of(ada, transcript, CODE).run_test() as pilot:
        await answered(pilot)
        area = await copy_mode(pilot)
        for keys, text in (
            (["tab"], "print(1)\nprint(2)"),
            (["tab"], "ls -l"),
            (["tab"], "print(1)\nprint(2)"),
            (["shift+tab"], "ls -l"),
            (["shift+tab"], "print(1)\nprint(2)"),
        ):
            await pilot.press(*keys)
            await until(pilot, partial(selected, area, text))
        await pilot.press("enter")
        await until(pilot, lambda: screen(pilot) == "ChatScreen")
        await until(pilot, lambda: status(pilot) == "Copied 17 characters in 2 lines.")
        assert pilot.app.clipboard == "print(1)\nprint(2)"


async def test_a_message_without_code_says_so_and_escape_copies_nothing(
    ada: Persona, transcript: Transcript
) -> None:
    async with app_of(ada, transcript, "No code.").run_test() as pilot:
        await answered(pilot)
        await copy_mode(pilot)
        await pilot.press("tab")
        title = pilot.app.screen.query_one("#copy-title")
        await until(pilot, lambda: "no code block" in str(title.render()))
        await pilot.press("escape")
        await until(pilot, lambda: screen(pilot) == "ChatScreen")
        assert pilot.app.clipboard == ""
        assert isinstance(pilot.app.focused, Bubble)


@pytest.mark.parametrize("size", [(100, 30), (80, 20), (40, 12)])
async def test_the_keys_of_copy_mode_are_seen_below_a_long_message(
    ada: Persona, transcript: Transcript, size: tuple[int, int]
) -> None:
    async with app_of(ada, transcript, "\n\n".join([LONG] * 9)).run_test(size=size) as pilot:
        await answered(pilot)
        await copy_mode(pilot)
        await pilot.pause()
        window, keys = pilot.app.screen.query_one("#copy"), pilot.app.screen.query_one("#copy-keys")
        assert window.content_region.contains_region(keys.region)
        assert "Enter" in shown(keys)


async def drag(pilot: Pilot[Any], text: MessageText, start: tuple[int, int], end: tuple[int, int]) -> None:
    """Select with the mouse, from a cell of the text to another one."""
    await pilot.mouse_down(text, offset=start)
    await pilot.hover(text, offset=end)
    await pilot.mouse_up(text, offset=end)
    await pilot.pause()


@pytest.mark.core
async def test_a_part_is_selected_with_the_mouse_and_copied_as_it_was_written(
    ada: Persona, transcript: Transcript
) -> None:
    async with app_of(ada, transcript, "One **two** three four.").run_test() as pilot:
        text = await answered(pilot)
        await drag(pilot, text, (0, 0), (12, 0))
        await pilot.press("ctrl+c")
        await until(pilot, lambda: status(pilot) == "Copied “One **two** three”.")
        assert pilot.app.clipboard == "One **two** three"


async def test_wrapped_lines_are_copied_as_one_line(ada: Persona, transcript: Transcript) -> None:
    async with app_of(ada, transcript, LONG).run_test(size=(60, 40)) as pilot:
        text = await answered(pilot)
        assert text.size.height > 5
        await drag(pilot, text, (0, 0), (5, 4))
        await pilot.press("ctrl+c")
        await until(pilot, lambda: bool(pilot.app.clipboard))
        assert "\n" not in pilot.app.clipboard
        assert LONG.startswith(pilot.app.clipboard)
        assert len(pilot.app.clipboard) > 150


async def test_f5_exports_the_conversation(ada: Persona, transcript: Transcript) -> None:
    async with app_of(ada, transcript, "One.").run_test() as pilot:
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and prompt(pilot).has_focus)
        await pilot.press("f5")
        await until(pilot, lambda: status(pilot) == "There is nothing to export yet.")
        await answered(pilot)
        await pilot.press("f5")
        await until(pilot, lambda: screen(pilot) == "ExportScreen")


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_copy_reaches_the_clipboard_through_tmux(ada: Persona) -> None:
    write_models('[models.quick]\nspec = "scripted:One two three."\n')
    with terminal("chat", "ada", "--model", "quick") as pane:
        pane.set_option("set-clipboard", "on")
        pane.wait_for("Say something…")
        pane.type("Hello.")
        pane.press("Enter")
        pane.wait_for("One two three.", "Again")
        pane.press("M-Up")
        pane.wait_for("⏎ part")
        pane.press("C-c")
        pane.wait_for("Copied “One two three.”")
        assert pane.buffer() == "One two three."
        pane.press("C-q")
        assert pane.exit_code() == 0

"""Vim keys in the prompt: the sign of the mode, Escape, sending, and what others type."""

from collections.abc import Iterator
from typing import Any

import pytest
from helpers.piloting import type_fast
from helpers.role_app import answering, bubbles, prompt, role_app, screen, until
from helpers.user_files import write_config, write_persona
from textual import events
from textual.pilot import Pilot

from rolellm_agents.config.paths import user_paths
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona, load_persona
from rolellm_agents.transcript import Transcript
from rolellm_tui.app import RoleApp
from rolellm_tui.widgets.chat.bubble import Bubble


@pytest.fixture
def transcript() -> Iterator[Transcript]:
    with Transcript(user_paths().transcript) as opened:
        yield opened


@pytest.fixture
def ada() -> Persona:
    write_persona()
    return load_persona("ada")


def app_of(ada: Persona, transcript: Transcript, *, seconds: float = 0) -> RoleApp:
    model = ScriptedChatModel(replies=["One two three four five."] * 3, seconds_per_word=seconds)
    return role_app(model, transcript, first=ada)


async def opened(pilot: Pilot[Any], *, vim: bool = True) -> None:
    await until(pilot, lambda: screen(pilot) == "ChatScreen" and prompt(pilot).has_focus)
    prompt(pilot).vim_keys = vim
    await pilot.pause()


def mode(pilot: Pilot[Any]) -> str:
    return str(prompt(pilot).border_subtitle or "")


@pytest.mark.core
async def test_keys_edit_in_normal_mode_and_write_in_insert_mode(
    ada: Persona, transcript: Transcript
) -> None:
    async with app_of(ada, transcript).run_test() as pilot:
        await opened(pilot)
        assert mode(pilot) == "INSERT"
        await type_fast(pilot, *"one two three", "escape", *"bbd")
        await until(pilot, lambda: mode(pilot) == "NORMAL d")
        await type_fast(pilot, *"wx")
        await until(pilot, lambda: prompt(pilot).text == "one hree")
        assert mode(pilot) == "NORMAL"
        await type_fast(pilot, *"uu")
        await until(pilot, lambda: prompt(pilot).text == "one two three")
        await type_fast(pilot, "ctrl+r", "A", "!")
        await until(pilot, lambda: prompt(pilot).text == "one three!")
        assert mode(pilot) == "INSERT"
        # The command “Again” has the same key, and must not have run.
        assert len(bubbles(pilot)) == 1


async def test_enter_sends_in_normal_mode_and_writing_begins_anew(
    ada: Persona, transcript: Transcript
) -> None:
    async with app_of(ada, transcript).run_test() as pilot:
        await opened(pilot)
        await type_fast(pilot, *"hello", "escape", "enter")
        await until(pilot, lambda: len(bubbles(pilot)) == 3 and not answering(pilot))
        assert prompt(pilot).text == ""
        assert mode(pilot) == "INSERT"
        await type_fast(pilot, *"x", "escape", "u")
        await until(pilot, lambda: mode(pilot) == "NORMAL" and prompt(pilot).text == "")


async def test_escape_in_normal_mode_stops_the_answer(ada: Persona, transcript: Transcript) -> None:
    async with app_of(ada, transcript, seconds=0.5).run_test() as pilot:
        await opened(pilot)
        await type_fast(pilot, *"hello", "enter")
        await until(pilot, lambda: answering(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: mode(pilot) == "NORMAL")
        assert answering(pilot)
        await pilot.press("d", "escape")
        assert answering(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: not answering(pilot))


async def test_letters_that_are_typed_at_a_message_are_text(ada: Persona, transcript: Transcript) -> None:
    async with app_of(ada, transcript).run_test() as pilot:
        await opened(pilot)
        await type_fast(pilot, *"on", "escape", "alt+up")
        await until(pilot, lambda: isinstance(pilot.app.focused, Bubble))
        await type_fast(pilot, *"dd")
        await until(pilot, lambda: prompt(pilot).text == "oddn")
        assert mode(pilot) == "INSERT"


async def test_escape_and_a_letter_in_one_go_are_two_keys(ada: Persona, transcript: Transcript) -> None:
    async with app_of(ada, transcript).run_test() as pilot:
        await opened(pilot)
        await type_fast(pilot, *"one")
        # What terminals make of Escape with an x right behind it.
        pilot.app.post_message(events.Key("alt+x", "x"))
        await until(pilot, lambda: prompt(pilot).text == "on")
        assert mode(pilot) == "NORMAL"


async def test_without_the_setting_escape_and_letters_are_as_ever(
    ada: Persona, transcript: Transcript
) -> None:
    async with app_of(ada, transcript).run_test() as pilot:
        await opened(pilot, vim=False)
        await type_fast(pilot, *"one", "escape", *"dd")
        await until(pilot, lambda: prompt(pilot).text == "onedd")
        assert mode(pilot) == ""


async def test_the_setting_applies_to_the_prompt_on_the_screen(
    ada: Persona, transcript: Transcript
) -> None:
    async with app_of(ada, transcript).run_test() as pilot:
        await opened(pilot, vim=False)
        await pilot.press("f2")
        await until(pilot, lambda: screen(pilot) == "SettingsScreen")
        write_config("vim_keys = true\n")
        pilot.app.screen.dismiss(True)
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and prompt(pilot).is_mounted)
        await until(pilot, lambda: mode(pilot) == "INSERT")

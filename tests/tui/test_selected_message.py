"""A selected message of the chat: what its keys do, and that typing leads back to the prompt."""

from collections.abc import Iterator
from typing import Any

import pytest
from helpers.piloting import type_fast
from helpers.role_app import answering, bubbles, prompt, role_app, say, screen, until
from helpers.user_files import write_persona
from textual import events
from textual.pilot import Pilot
from textual.widgets import TextArea

from rolellm_agents.config.paths import user_paths
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona, load_persona
from rolellm_agents.transcript import Transcript
from rolellm_tui.widgets.chat.bubble import Bubble, SwipeCount


@pytest.fixture
def transcript() -> Iterator[Transcript]:
    with Transcript(user_paths().transcript) as opened:
        yield opened


@pytest.fixture
def ada() -> Persona:
    write_persona()
    return load_persona("ada")


def scripted(*replies: str | Exception, seconds_per_word: float = 0) -> ScriptedChatModel:
    return ScriptedChatModel(replies=list(replies), seconds_per_word=seconds_per_word)


def selected(pilot: Pilot[Any]) -> str | None:
    focused = pilot.app.focused
    return focused.text if isinstance(focused, Bubble) else None


def hint_shown(pilot: Pilot[Any]) -> bool:
    return bool(pilot.app.screen.query_one("#message-hint").display)


async def talk(pilot: Pilot[Any], text: str) -> None:
    """Say something and wait for the end of the answer."""
    await until(pilot, lambda: screen(pilot) == "ChatScreen" and not answering(pilot))
    before = len(bubbles(pilot))
    await say(pilot, text)
    await until(pilot, lambda: len(bubbles(pilot)) == before + 2 and not answering(pilot))


@pytest.mark.core
async def test_the_arrows_select_messages_and_lead_back_to_the_prompt(
    ada: Persona, transcript: Transcript
) -> None:
    async with role_app(scripted("One."), transcript, first=ada).run_test() as pilot:
        await talk(pilot, "Hello.")
        assert not hint_shown(pilot)
        await pilot.press("alt+up")
        await until(pilot, lambda: selected(pilot) == "One.")
        assert hint_shown(pilot)
        await pilot.press("up", "up", "up", "up")
        await until(pilot, lambda: selected(pilot) == "Good day.")
        await pilot.press("down")
        await until(pilot, lambda: selected(pilot) == "Hello.")
        await pilot.press("down", "down")
        await until(pilot, lambda: prompt(pilot).has_focus)
        assert not hint_shown(pilot)


@pytest.mark.core
@pytest.mark.parametrize("key", ["escape", "alt+down"])
async def test_a_key_leads_back_from_any_message(ada: Persona, transcript: Transcript, key: str) -> None:
    async with role_app(scripted("One."), transcript, first=ada).run_test() as pilot:
        await talk(pilot, "Hello.")
        await pilot.press("alt+up", "up", key)
        await until(pilot, lambda: prompt(pilot).has_focus)


@pytest.mark.core
async def test_letters_are_no_commands_but_the_beginning_of_the_next_line(
    ada: Persona, transcript: Transcript
) -> None:
    async with role_app(scripted("One."), transcript, first=ada).run_test() as pilot:
        await talk(pilot, "Hello.")
        await pilot.press("alt+up")
        await type_fast(pilot, *"the question, and now about bees")
        await until(pilot, lambda: prompt(pilot).text == "the question, and now about bees")
        assert screen(pilot) == "ChatScreen"
        await pilot.press("alt+up")
        await until(pilot, lambda: selected(pilot) == "One.")
        pilot.app.post_message(events.Paste(" and wasps"))
        await until(pilot, lambda: prompt(pilot).text.endswith("bees and wasps"))
        assert len(transcript.conversations()) == 1


@pytest.mark.core
async def test_after_a_swipe_the_same_place_is_selected(ada: Persona, transcript: Transcript) -> None:
    async with role_app(scripted("One.", "Two.", "Three."), transcript, first=ada).run_test() as pilot:
        await talk(pilot, "Hello.")
        await pilot.press("alt+up", "right")
        await until(pilot, lambda: selected(pilot) == "Two." and not answering(pilot))
        await pilot.press("left")
        await until(pilot, lambda: selected(pilot) == "One.")
        await pilot.press("right", "right")
        await until(pilot, lambda: selected(pilot) == "Three." and not answering(pilot))


@pytest.mark.core
async def test_after_an_edit_the_same_place_is_selected_and_nobody_is_thinking(
    ada: Persona, transcript: Transcript
) -> None:
    async with role_app(scripted("One."), transcript, first=ada).run_test() as pilot:
        await talk(pilot, "Hello.")
        await pilot.press("alt+up", "ctrl+e")
        await until(pilot, lambda: screen(pilot) == "AskScreen")
        pilot.app.screen.query_one(TextArea).text = "Another one."
        await pilot.press("ctrl+s")
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and selected(pilot) == "Another one.")
        assert "thinking" not in str(pilot.app.screen.query_one("#status").render())


async def test_without_a_selection_ones_own_last_line_is_edited(
    ada: Persona, transcript: Transcript
) -> None:
    async with role_app(scripted("One."), transcript, first=ada).run_test() as pilot:
        await pilot.press("ctrl+e")
        await until(pilot, lambda: "nothing to edit" in str(pilot.app.screen.query_one("#status").render()))
        await talk(pilot, "Hello.")
        await pilot.press("ctrl+e")
        await until(pilot, lambda: screen(pilot) == "AskScreen")
        assert pilot.app.screen.query_one(TextArea).text == "Hello."


@pytest.mark.core
async def test_a_click_on_an_arrow_swipes(ada: Persona, transcript: Transcript) -> None:
    async with role_app(scripted("One.", "Two."), transcript, first=ada).run_test() as pilot:
        await talk(pilot, "Hello.")
        await pilot.press("ctrl+r")
        await until(pilot, lambda: bubbles(pilot)[-1][1] == "Two." and not answering(pilot))
        for offset, wanted in (((0, 0), "One."), ((6, 0), "Two.")):
            await pilot.click(pilot.app.screen.query(SwipeCount).last(), offset=offset)
            await until(pilot, lambda wanted=wanted: bubbles(pilot)[-1][1] == wanted)  # type: ignore[misc]


async def test_ctrl_c_stops_an_answer_and_copies_otherwise(ada: Persona, transcript: Transcript) -> None:
    model = scripted("A long answer " * 200, seconds_per_word=0.05)
    async with role_app(model, transcript, first=ada).run_test() as pilot:
        await say(pilot, "Hello.")
        await until(pilot, lambda: len(bubbles(pilot)) == 3)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: not answering(pilot) and bubbles(pilot)[-1][2] == "cut off")
        await pilot.press("alt+up", "ctrl+c")
        await until(pilot, lambda: pilot.app.clipboard.startswith("A long"))

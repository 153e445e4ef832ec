"""A chat of thousands of messages: a window of them is mounted, and one gets everywhere."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from helpers.long_conversation import long_conversation
from helpers.piloting import type_fast
from helpers.role_app import answering, prompt, role_app, say, screen, shown, until
from helpers.user_files import write_persona
from textual import events
from textual.geometry import Region
from textual.pilot import Pilot
from textual.widgets import Static

from rolellm_agents.config.paths import user_paths
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.transcript import Transcript
from rolellm_tui.app import RoleApp
from rolellm_tui.widgets.chat.bubble import Bubble
from rolellm_tui.widgets.chat.conversation_view import ConversationView
from rolellm_tui.widgets.chat.window import MOST_MOUNTED
from rolellm_tui.widgets.common.search_bar import SearchBar

LENGTH = 2_000


class LongChat:
    """The app, and a long conversation that it can open."""

    def __init__(self, transcript: Transcript) -> None:
        write_persona()
        self.id = long_conversation(transcript, "ada", LENGTH)
        self.ids = [message.id for message in transcript.path(self.id)]
        self.app: RoleApp = role_app(ScriptedChatModel(replies=["One.", "Two."]), transcript)

    async def open(self, pilot: Pilot[Any], at: int | None = None) -> None:
        """Open the conversation, at a message if one is named."""
        self.app.go_on_with(self.id, None if at is None else self.ids[at])
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and len(texts(pilot)) == MOST_MOUNTED)
        await until(pilot, lambda: in_view(pilot))


@pytest.fixture
def chat() -> Iterator[LongChat]:
    with Transcript(user_paths().transcript) as opened:
        yield LongChat(opened)


def view(pilot: Pilot[Any]) -> ConversationView:
    return pilot.app.screen.query_one(ConversationView)


def texts(pilot: Pilot[Any]) -> list[str]:
    """Of the mounted messages."""
    return [bubble.text for bubble in pilot.app.screen.query(Bubble)]


def found_in_view(pilot: Pilot[Any]) -> list[str]:
    """The texts of marked messages that the user sees."""
    marked = pilot.app.screen.query(Bubble).results()
    return [
        one.text for one in marked if one.has_class("found") and view(pilot).region.overlaps(one.region)
    ]


def search_text(pilot: Pilot[Any]) -> str:
    return pilot.app.screen.query_one(SearchBar).text


def numbers(pilot: Pilot[Any]) -> list[int]:
    """Of the mounted messages."""
    return [int(text.split()[1][:-1]) for text in texts(pilot)]


def in_view(pilot: Pilot[Any]) -> list[str]:
    """Of the messages that the user sees whole."""
    place: Region = view(pilot).region
    return [
        bubble.text
        for bubble in pilot.app.screen.query(Bubble)
        if bubble.region.height and place.contains_region(bubble.region)
    ]


def row_of(pilot: Pilot[Any], text: str) -> int | None:
    """The row of the screen in which a message begins; None if it is not mounted."""
    return next((one.region.y for one in pilot.app.screen.query(Bubble) if one.text == text), None)


def selected(pilot: Pilot[Any]) -> str | None:
    focused = pilot.app.focused
    return focused.text if isinstance(focused, Bubble) else None


@pytest.mark.core
async def test_a_message_far_up_opens_in_the_middle_of_a_small_window(chat: LongChat) -> None:
    async with chat.app.run_test() as pilot:
        await chat.open(pilot, at=600)
        await until(pilot, lambda: "Line 600." in in_view(pilot))
        assert selected(pilot) == "Line 600."
        assert texts(pilot) == [f"Line {number}." for number in range(570, 630)]


@pytest.mark.core
async def test_scrolling_loads_in_both_directions_a_page_at_a_time(chat: LongChat) -> None:
    async with chat.app.run_test() as pilot:
        await chat.open(pilot, at=1_000)
        first = 1_000
        for key, far in (("pageup", 100), ("pagedown", -100)):
            goal = first - far
            for _ in range(60):
                if (numbers(pilot)[0] - goal) * far <= 0:
                    break
                reading = in_view(pilot)[0 if far > 0 else -1]
                row = row_of(pilot, reading)
                await pilot.press(key)
                await pilot.pause()
                now = row_of(pilot, reading)
                assert now is not None
                assert row is not None
                assert abs(now - row) <= view(pilot).size.height
                assert len(texts(pilot)) == MOST_MOUNTED
            first = numbers(pilot)[0]
            assert (first - goal) * far <= 0
            assert numbers(pilot) == list(range(first, first + MOST_MOUNTED))


async def test_loading_moves_nothing_on_the_screen(chat: LongChat) -> None:
    async with chat.app.run_test() as pilot:
        await chat.open(pilot, at=1_000)
        conversation = view(pilot)
        while conversation.scroll_offset.y > conversation.size.height // 2 + 1:
            conversation.scroll_relative(y=-1, animate=False)
            await pilot.pause()
        reading, first = in_view(pilot), texts(pilot)[0]
        rows = [row_of(pilot, text) for text in reading]
        conversation.scroll_relative(y=-1, animate=False)
        await until(pilot, lambda: texts(pilot)[0] != first)
        assert [row_of(pilot, text) for text in reading] == [row and row + 1 for row in rows]


@pytest.mark.core
async def test_one_jumps_to_the_start_and_to_the_end(chat: LongChat) -> None:
    async with chat.app.run_test() as pilot:
        await chat.open(pilot)
        await until(pilot, lambda: "Line 1999." in in_view(pilot))
        await pilot.press("ctrl+home")
        await until(pilot, lambda: "Line 0." in in_view(pilot))
        assert len(texts(pilot)) == MOST_MOUNTED
        assert prompt(pilot).has_focus
        await pilot.press("ctrl+end")
        await until(pilot, lambda: "Line 1999." in in_view(pilot))
        assert len(texts(pilot)) == MOST_MOUNTED


@pytest.mark.core
async def test_an_answer_is_shown_at_the_end_wherever_one_was(chat: LongChat) -> None:
    async with chat.app.run_test() as pilot:
        await chat.open(pilot, at=300)
        prompt(pilot).focus()
        await say(pilot, "Hello.")
        await until(pilot, lambda: texts(pilot)[-2:] == ["Hello.", "One."] and not answering(pilot))
        await until(pilot, lambda: "One." in in_view(pilot))
        assert len(texts(pilot)) == MOST_MOUNTED


async def test_reading_on_while_an_answer_grows_is_not_disturbed(chat: LongChat) -> None:
    async with chat.app.run_test() as pilot:
        await chat.open(pilot)
        await say(pilot, "Hello.")
        await until(pilot, lambda: texts(pilot)[-1] == "One." and not answering(pilot))
        await pilot.press("ctrl+home")
        await until(pilot, lambda: "Line 0." in in_view(pilot))
        await view(pilot).show()
        await pilot.pause()
        assert "Line 0." in in_view(pilot)


@pytest.mark.core
async def test_one_finds_in_the_whole_conversation_and_goes_from_match_to_match(chat: LongChat) -> None:
    async with chat.app.run_test() as pilot:
        await chat.open(pilot)
        await pilot.press("ctrl+f")
        await pilot.press(*"line 77")
        count = pilot.app.screen.query_one(SearchBar).query_one(".count", Static)
        await until(pilot, lambda: shown(count) == "11 of 11")
        await until(pilot, lambda: "Line 779." in in_view(pilot))
        assert [one.text for one in pilot.app.screen.query(".found").results(Bubble)] == ["Line 779."]
        await pilot.press("up")
        await until(pilot, lambda: shown(count) == "10 of 11" and "Line 778." in in_view(pilot))
        await pilot.press("enter", "enter")
        await until(pilot, lambda: shown(count) == "1 of 11" and "Line 77." in in_view(pilot))
        assert len(texts(pilot)) == MOST_MOUNTED
        await pilot.press("escape")
        await until(pilot, lambda: selected(pilot) == "Line 77.")
        assert not pilot.app.screen.query(".found")
        await pilot.press("ctrl+f")
        await until(pilot, lambda: shown(count) == "1 of 11")
        await pilot.press("down")
        await until(pilot, lambda: shown(count) == "2 of 11" and "Line 770." in in_view(pilot))


async def test_letters_typed_right_after_ctrl_f_are_searched(chat: LongChat) -> None:
    async with chat.app.run_test() as pilot:
        await chat.open(pilot)
        await type_fast(pilot, "ctrl+f", *"Line 70")
        await until(pilot, lambda: search_text(pilot) == "Line 70" and "Line 709." in texts(pilot))
        await type_fast(pilot, "escape", "ctrl+f", *"7.")
        await until(pilot, lambda: search_text(pilot) == "Line 707." and "Line 707." in texts(pilot))
        assert prompt(pilot).text == ""


async def test_the_match_is_shown_however_the_letters_come(chat: LongChat) -> None:
    async with chat.app.run_test() as pilot:
        await chat.open(pilot)
        for tail in ("100.", "1500.", "300."):
            await type_fast(pilot, "ctrl+f", "ctrl+u")
            await until(pilot, lambda: search_text(pilot) == "")
            for letter in f"Line {tail}":
                pilot.app.post_message(events.Key("space" if letter == " " else letter, letter))
                await asyncio.sleep(0.02)
            await until(pilot, lambda: f"Line {tail}" in found_in_view(pilot))  # noqa: B023
            await pilot.pause(0.5)
            assert found_in_view(pilot) == [f"Line {tail}"]


async def test_what_is_not_there_is_not_found(chat: LongChat) -> None:
    async with chat.app.run_test() as pilot:
        await chat.open(pilot)
        await pilot.press("ctrl+f")
        await pilot.press(*"zebra")
        count = pilot.app.screen.query_one(SearchBar).query_one(".count", Static)
        await until(pilot, lambda: shown(count) == "not found")
        await pilot.press("enter", "escape")
        await until(pilot, lambda: prompt(pilot).has_focus)


async def test_the_selection_goes_past_the_edges_of_the_window(chat: LongChat) -> None:
    async with chat.app.run_test() as pilot:
        await chat.open(pilot, at=1_000)
        await pilot.press(*["up"] * 45)
        await until(pilot, lambda: selected(pilot) == "Line 955." and "Line 955." in in_view(pilot))
        await pilot.press(*["down"] * 90)
        await until(pilot, lambda: selected(pilot) == "Line 1045." and "Line 1045." in in_view(pilot))
        assert len(texts(pilot)) <= MOST_MOUNTED


async def test_another_answer_is_shown_to_one_who_asks_for_it_at_the_top(chat: LongChat) -> None:
    async with chat.app.run_test() as pilot:
        await chat.open(pilot)
        await say(pilot, "Hello.")
        await until(pilot, lambda: texts(pilot)[-1] == "One." and not answering(pilot))
        for _ in range(6):
            await pilot.press("pageup")
        await until(pilot, lambda: "One." not in in_view(pilot))
        await pilot.press("ctrl+r")
        await until(pilot, lambda: "Two." in in_view(pilot) and not answering(pilot))

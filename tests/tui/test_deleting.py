"""Deleting in the app and in plain mode: it is asked once, taken back, and deleted forever in the bin."""

from collections.abc import Iterator

import pytest
from helpers.piloting import until
from helpers.role_app import answering, bubbles, role_app, say, screen
from helpers.screen_app import ScreenApp, name_of_screen, text_of
from helpers.transcripts import say as append
from helpers.user_files import write_persona
from textual.widgets import Static

from rolellm_agents.config.paths import user_paths
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import load_persona
from rolellm_agents.transcript import Transcript
from rolellm_tui.screens.conversations import ConversationsScreen
from rolellm_tui.slash.commands import parse
from rolellm_tui.widgets.conversations.list import ConversationList


@pytest.fixture
def transcript() -> Iterator[Transcript]:
    with Transcript(user_paths().transcript) as opened:
        yield opened


def spoken(transcript: Transcript, persona: str, *lines: str) -> str:
    conversation = transcript.create_conversation(persona)
    last = None
    for line in lines:
        last = append(transcript, conversation, last, line).id
    return conversation


async def test_a_selected_message_is_deleted_after_a_question_and_undo_takes_it_back(
    transcript: Transcript,
) -> None:
    write_persona()
    app = role_app(ScriptedChatModel(replies=["Fine."]), transcript, first=load_persona("ada"))
    async with app.run_test() as pilot:
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and len(bubbles(pilot)) == 1)
        await say(pilot, "How are you?")
        await until(pilot, lambda: len(bubbles(pilot)) == 3 and not answering(pilot))
        await pilot.press("alt+up", "up", "delete")
        await until(pilot, lambda: screen(pilot) == "DeleteScreen")
        assert "2 messages" in str(app.screen.query_one("#delete-extent", Static).content)
        await pilot.press("escape")
        await until(pilot, lambda: screen(pilot) == "ChatScreen")
        assert len(bubbles(pilot)) == 3
        await pilot.press("delete")
        await until(pilot, lambda: screen(pilot) == "DeleteScreen")
        await pilot.press("y")
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and len(bubbles(pilot)) == 1)
        assert len(transcript.bin()) == 1
        await pilot.press("ctrl+z")
        await until(pilot, lambda: len(bubbles(pilot)) == 3)
        assert transcript.bin() == []
        await pilot.press("ctrl+y")
        await until(pilot, lambda: len(bubbles(pilot)) == 1)
        assert len(transcript.bin()) == 1


async def test_the_command_asks_too_and_deletes_the_numbered_message(transcript: Transcript) -> None:
    write_persona()
    app = role_app(ScriptedChatModel(replies=["Fine."]), transcript, first=load_persona("ada"))
    async with app.run_test() as pilot:
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and len(bubbles(pilot)) == 1)
        await say(pilot, "How are you?")
        await until(pilot, lambda: len(bubbles(pilot)) == 3 and not answering(pilot))
        await say(pilot, "/delete 3")
        await until(pilot, lambda: screen(pilot) == "DeleteScreen")
        assert "1 message." in str(app.screen.query_one("#delete-extent", Static).content)
        await pilot.press("n")
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and not answering(pilot))
        assert len(bubbles(pilot)) == 3
        await say(pilot, "/delete 3")
        await until(pilot, lambda: screen(pilot) == "DeleteScreen")
        await pilot.press("y")
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and len(bubbles(pilot)) == 2)
        await until(pilot, lambda: not answering(pilot))


async def test_a_conversation_goes_to_the_bin_and_comes_back(transcript: Transcript) -> None:
    ada = spoken(transcript, "ada", "apple")
    spoken(transcript, "bob", "pear")
    app = ScreenApp(ConversationsScreen(transcript), transcript)
    async with app.run_test() as pilot:
        rows = app.screen_stack[1].query_one(ConversationList)
        await until(pilot, lambda: rows.option_count > 1)
        rows.go_to(ada)
        rows.focus()
        await pilot.press("d")
        await until(pilot, lambda: name_of_screen(pilot) == "DeleteScreen")
        await pilot.press("y")
        await until(pilot, lambda: len(transcript.conversations()) == 1)
        await until(pilot, lambda: name_of_screen(pilot) == "ConversationsScreen")
        await pilot.press("b")
        await until(pilot, lambda: "30 days left" in text_of(pilot, "#bin"))
        await pilot.press("u")
        await until(pilot, lambda: len(transcript.conversations()) == 2)


async def test_the_bin_is_emptied_after_a_question(transcript: Transcript) -> None:
    ada = spoken(transcript, "ada", "apple")
    transcript.delete_conversations([ada])
    app = ScreenApp(ConversationsScreen(transcript), transcript)
    async with app.run_test() as pilot:
        app.screen_stack[1].query_one(ConversationList).focus()
        await pilot.press("b")
        await until(pilot, lambda: "30 days left" in text_of(pilot, "#bin"))
        await pilot.press("e")
        await until(pilot, lambda: name_of_screen(pilot) == "DeleteScreen")
        assert "cannot be undone" in str(app.screen.query_one("#delete-extent", Static).content)
        await pilot.press("y")
        await until(pilot, lambda: "The bin is empty" in text_of(pilot, "#bin-empty"))
        assert transcript.bin() == []


def test_plain_mode_knows_the_number_of_the_message() -> None:
    assert parse("/delete 3").number == 3

"""The chat's keys: every way through what was said, and what is kept of what was not said yet."""

from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock

import pytest
from helpers.piloting import type_fast
from helpers.role_app import (
    answering,
    bubbles,
    cast,
    keys_offered,
    prompt,
    role_app,
    say,
    screen,
    status,
    until,
)
from helpers.user_files import ADA, write_persona
from textual.pilot import Pilot
from textual.widgets import Input, Static, TextArea
from textual.widgets._footer import FooterKey

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import ModelError, StorageError
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona, load_persona
from rolellm_agents.transcript import Transcript
from rolellm_tui.screens.chat import ChatScreen
from rolellm_tui.widgets.chat.bubble import Bubble
from rolellm_tui.widgets.common.key_footer import KeyFooter
from rolellm_tui.widgets.common.search_bar import SearchBar
from rolellm_tui.widgets.conversations.list import ConversationList

GREETING = ("Ada", "Good day.", "")


@pytest.fixture
def transcript() -> Iterator[Transcript]:
    with Transcript(user_paths().transcript) as opened:
        yield opened


@pytest.fixture
def ada() -> Persona:
    write_persona()
    return load_persona("ada")


def scripted(*replies: str | Exception) -> ScriptedChatModel:
    return ScriptedChatModel(replies=list(replies))


def words(pilot: Pilot[Any]) -> list[str]:
    return [bubble[1] for bubble in bubbles(pilot)]


def swipes(pilot: Pilot[Any]) -> tuple[int, int]:
    last = pilot.app.screen.query(Bubble).last()
    return last.place, last.places


async def talk(pilot: Pilot[Any], text: str) -> None:
    """Say something and wait for the end of the answer."""
    await until(pilot, lambda: screen(pilot) == "ChatScreen" and not answering(pilot))
    before = len(bubbles(pilot))
    await say(pilot, text)
    await until(pilot, lambda: len(bubbles(pilot)) == before + 2 and not answering(pilot))


async def test_keys_that_edit_keep_their_place_among_letters(ada: Persona, transcript: Transcript) -> None:
    async with role_app(scripted("One."), transcript, first=ada).run_test() as pilot:
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and prompt(pilot).has_focus)
        await type_fast(pilot, *"abx", "backspace", *"d", "left", *"c", "home", *">", "end", *".")
        await until(pilot, lambda: prompt(pilot).text == ">abcd.")
        await type_fast(pilot, "ctrl+f", *"zzx", "backspace", *"z", "ctrl+u", *"day")
        await until(pilot, lambda: pilot.app.screen.query_one(SearchBar).text == "day")


@pytest.mark.core
async def test_one_swipes_between_answers_and_past_the_last_to_a_new_one(
    ada: Persona, transcript: Transcript
) -> None:
    async with role_app(scripted("One.", "Two.", "Three."), transcript, first=ada).run_test() as pilot:
        await talk(pilot, "Hello.")
        await pilot.press("alt+right")
        await until(pilot, lambda: words(pilot)[-1] == "Two." and not answering(pilot))
        assert swipes(pilot) == (2, 2)
        await pilot.press("alt+left")
        await until(pilot, lambda: (words(pilot)[-1], swipes(pilot)) == ("One.", (1, 2)))
        await pilot.press("alt+left")
        await pilot.pause()
        assert words(pilot)[-1] == "One."
        await pilot.press("alt+right", "alt+right")
        await until(pilot, lambda: words(pilot)[-1] == "Three." and not answering(pilot))
        assert swipes(pilot) == (3, 3)
        assert len(words(pilot)) == 3


@pytest.mark.core
async def test_what_was_done_is_taken_back_and_done_again(ada: Persona, transcript: Transcript) -> None:
    async with role_app(scripted("One.", "Two."), transcript, first=ada).run_test() as pilot:
        await talk(pilot, "Hello.")
        await talk(pilot, "More.")
        await pilot.press("ctrl+z")
        await until(pilot, lambda: words(pilot) == ["Good day.", "Hello.", "One."])
        await pilot.press("ctrl+z")
        await until(pilot, lambda: words(pilot) == ["Good day."])
        await pilot.press("ctrl+y", "ctrl+y")
        await until(pilot, lambda: words(pilot) == ["Good day.", "Hello.", "One.", "More.", "Two."])
        await pilot.press("ctrl+y")
        await until(pilot, lambda: status(pilot) == "Nothing to redo.")


async def test_while_one_writes_undo_is_about_the_writing(ada: Persona, transcript: Transcript) -> None:
    async with role_app(scripted("One."), transcript, first=ada).run_test() as pilot:
        await talk(pilot, "Hello.")
        await pilot.press(*"abc")
        await pilot.press("ctrl+z")
        await until(pilot, lambda: prompt(pilot).text == "")
        assert words(pilot) == ["Good day.", "Hello.", "One."]


@pytest.mark.core
async def test_an_answer_goes_on(ada: Persona, transcript: Transcript) -> None:
    async with role_app(scripted("Once upon", " a time."), transcript, first=ada).run_test() as pilot:
        await talk(pilot, "A story.")
        await pilot.press("ctrl+g")
        await until(pilot, lambda: words(pilot)[-1] == "Once upon a time." and not answering(pilot))
        assert len(words(pilot)) == 3
        assert swipes(pilot) == (2, 2)


async def test_before_there_is_an_answer_nothing_goes_on(ada: Persona, transcript: Transcript) -> None:
    async with role_app(scripted(), transcript, first=ada).run_test() as pilot:
        await until(pilot, lambda: bubbles(pilot) == [GREETING])
        await pilot.press("ctrl+g")
        await until(pilot, lambda: "send a message first" in status(pilot))


async def test_each_message_has_its_own_keys(ada: Persona, transcript: Transcript) -> None:
    async with role_app(scripted("One.", "Two.", "Three."), transcript, first=ada).run_test() as pilot:
        await talk(pilot, "Hello.")
        await talk(pilot, "More.")
        await pilot.press("alt+up")
        assert pilot.app.focused is pilot.app.screen.query(Bubble).last()
        await pilot.press("up", "up")
        focused = pilot.app.focused
        assert isinstance(focused, Bubble)
        assert focused.text == "One."
        await pilot.press("f3")
        await until(pilot, lambda: words(pilot) == ["Good day.", "Hello.", "One."])
        assert "branch-2" in status(pilot)
        assert prompt(pilot).has_focus
        await talk(pilot, "Otherwise.")
        assert words(pilot)[-2:] == ["Otherwise.", "Three."]


@pytest.mark.core
async def test_a_line_is_edited_and_answered_anew(ada: Persona, transcript: Transcript) -> None:
    async with role_app(scripted("One.", "Two."), transcript, first=ada).run_test() as pilot:
        await talk(pilot, "Hello.")
        await pilot.press("alt+up", "up", "ctrl+e")
        await until(pilot, lambda: screen(pilot) == "AskScreen")
        area = pilot.app.screen.query_one(TextArea)
        assert area.text == "Hello."
        area.text = "Good evening."
        await pilot.press("ctrl+s")
        await until(
            pilot,
            lambda: screen(pilot) == "ChatScreen" and words(pilot)[-1] == "Two." and not answering(pilot),
        )
        assert words(pilot) == ["Good day.", "Good evening.", "Two."]


async def test_who_leaves_the_edit_changes_nothing(ada: Persona, transcript: Transcript) -> None:
    async with role_app(scripted("One."), transcript, first=ada).run_test() as pilot:
        await talk(pilot, "Hello.")
        await pilot.press("alt+up", "ctrl+e")
        await until(pilot, lambda: screen(pilot) == "AskScreen")
        pilot.app.screen.query_one(TextArea).text = "Something else."
        await pilot.pause()
        keys = pilot.app.screen.query_one("#ask-keys", Static)
        await pilot.press("escape")
        await until(pilot, lambda: "not saved" in str(keys.render()))
        await pilot.press("x")
        await until(pilot, lambda: "not saved" not in str(keys.render()))
        await pilot.press("escape", "escape")
        await until(pilot, lambda: screen(pilot) == "ChatScreen")
        assert words(pilot) == ["Good day.", "Hello.", "One."]


@pytest.mark.core
async def test_the_authors_note_is_written_and_sent_along(ada: Persona, transcript: Transcript) -> None:
    model = scripted("One.")
    async with role_app(model, transcript, first=ada).run_test() as pilot:
        await until(pilot, lambda: bubbles(pilot) == [GREETING])
        await pilot.press("f7")
        await until(pilot, lambda: screen(pilot) == "AskScreen")
        pilot.app.screen.query_one(TextArea).text = "It rains."
        await pilot.press("ctrl+s")
        await until(pilot, lambda: screen(pilot) == "ChatScreen")
        await talk(pilot, "Hello.")
        assert any(message.text == "It rains." for message in model.calls[-1])


@pytest.mark.core
async def test_the_model_writes_the_persons_line_into_the_prompt(
    ada: Persona, transcript: Transcript
) -> None:
    async with role_app(scripted("What do you count?"), transcript, first=ada).run_test() as pilot:
        await until(pilot, lambda: bubbles(pilot) == [GREETING])
        await pilot.press("f6")
        await until(pilot, lambda: prompt(pilot).text == "What do you count?" and not answering(pilot))
        assert words(pilot) == ["Good day."]


async def test_what_stood_in_the_prompt_comes_back_when_the_model_cannot_write(
    ada: Persona, transcript: Transcript
) -> None:
    async with role_app(scripted(ModelError("Away.")), transcript, first=ada).run_test() as pilot:
        await until(pilot, lambda: bubbles(pilot) == [GREETING])
        prompt(pilot).text = "I wonder"
        await pilot.press("f6")
        await until(pilot, lambda: status(pilot) == "Away.")
        assert prompt(pilot).text == "I wonder"


async def test_what_was_typed_and_not_sent_is_there_the_next_time(
    ada: Persona, transcript: Transcript
) -> None:
    async with role_app(scripted("One."), transcript, first=ada).run_test() as pilot:
        await until(pilot, lambda: bubbles(pilot) == [GREETING])
        await pilot.press(*"Half a li")
        await until(pilot, lambda: transcript.draft("ada") == "Half a li")
    async with role_app(scripted("One."), transcript, first=ada).run_test() as pilot:
        await until(pilot, lambda: prompt(pilot).text == "Half a li")
        await pilot.press(*"ne")
        await pilot.press("enter")
        await until(pilot, lambda: words(pilot)[-2:] == ["Half a line", "One."] and not answering(pilot))
    async with role_app(scripted("One."), transcript, first=ada).run_test() as pilot:
        await until(pilot, lambda: len(bubbles(pilot)) == 3)
        assert prompt(pilot).text == ""


@pytest.mark.core
async def test_a_line_that_was_sent_is_not_the_draft_of_the_next_chat(
    ada: Persona, transcript: Transcript
) -> None:
    async with role_app(scripted("One."), transcript, first=ada).run_test() as pilot:
        await until(pilot, lambda: bubbles(pilot) == [GREETING])
        await pilot.press(*"Hello")
        await until(pilot, lambda: transcript.draft("ada") == "Hello")
        await pilot.press("enter")
        await until(pilot, lambda: words(pilot)[-1] == "One." and not answering(pilot))
        await pilot.press("ctrl+n")
        await until(pilot, lambda: bubbles(pilot) == [GREETING])
        assert prompt(pilot).text == ""


async def test_up_brings_back_what_one_said(ada: Persona, transcript: Transcript) -> None:
    async with role_app(scripted("One.", "Two."), transcript, first=ada).run_test() as pilot:
        await talk(pilot, "Hello.")
        await talk(pilot, "More.")
        await pilot.press(*"own", "up")
        assert prompt(pilot).text == "More."
        await pilot.press("up", "up", "up")
        assert prompt(pilot).text == "Hello."
        await pilot.press("down", "down")
        assert prompt(pilot).text == "own"


async def test_a_cards_greetings_are_swiped_before_the_first_line(transcript: Transcript) -> None:
    write_persona()
    card = {"data": {"name": "Ada", "first_mes": "Good day.", "alternate_greetings": ["Good night."]}}
    document = {"spec": "chara_card_v2", "spec_version": "2.0", **card}
    ada = load_persona("ada").model_copy(update={"extensions": {"card": {"document": document}}})
    async with role_app(scripted("One."), transcript, first=ada).run_test() as pilot:
        await until(pilot, lambda: bubbles(pilot) == [GREETING])
        assert swipes(pilot) == (1, 2)
        await pilot.press("alt+right")
        await until(pilot, lambda: words(pilot) == ["Good night."])
        await talk(pilot, "Hello.")
        assert words(pilot) == ["Good night.", "Hello.", "One."]


@pytest.mark.core
async def test_one_goes_through_the_tree_to_another_answer(ada: Persona, transcript: Transcript) -> None:
    async with role_app(scripted("One.", "Two."), transcript, first=ada).run_test() as pilot:
        await talk(pilot, "Hello.")
        await pilot.press("ctrl+r")
        await until(pilot, lambda: words(pilot)[-1] == "Two." and not answering(pilot))
        await pilot.press("ctrl+t")
        await until(pilot, lambda: screen(pilot) == "TreeScreen")
        await pilot.press("left", "enter")
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and words(pilot)[-1] == "One.")


@pytest.mark.core
async def test_why_shows_the_prompt_of_the_answer(ada: Persona, transcript: Transcript) -> None:
    async with role_app(scripted("One."), transcript, first=ada).run_test(size=(120, 40)) as pilot:
        await talk(pilot, "Hello.")
        await pilot.press("ctrl+o")
        await until(pilot, lambda: screen(pilot) == "InspectorScreen")
        await pilot.press("escape")
        await until(pilot, lambda: screen(pilot) == "ChatScreen")


@pytest.mark.core
async def test_several_strategies_answer_and_the_second_is_kept(
    ada: Persona, transcript: Transcript
) -> None:
    async with role_app(scripted("One.", "Two."), transcript, first=ada).run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: bubbles(pilot) == [GREETING])
        prompt(pilot).text = "Hello."
        await pilot.press("ctrl+d")
        await until(pilot, lambda: screen(pilot) == "CompareScreen")
        await pilot.press("enter")
        chat = next(one for one in pilot.app.screen_stack if isinstance(one, ChatScreen))
        await until(pilot, lambda: "Keep" in keys_offered(pilot))
        await pilot.press("2")
        await until(pilot, lambda: screen(pilot) == "ChatScreen")
        assert words(pilot)[:2] == ["Good day.", "Hello."]
        assert chat.session.messages[-1].made_by["strategy"] != chat.session.strategy
        assert prompt(pilot).text == ""
        assert swipes(pilot)[1] == 2


async def test_conversations_settings_and_keys_open_over_the_chat_and_lead_back(
    ada: Persona, transcript: Transcript
) -> None:
    async with role_app(scripted("One."), transcript, first=ada).run_test(size=(120, 40)) as pilot:
        await talk(pilot, "Hello.")
        for key, name in (
            ("ctrl+s", "ConversationsScreen"),
            ("f2", "SettingsScreen"),
            ("f1", "KeysScreen"),
        ):
            await pilot.press(key)
            await until(pilot, lambda name=name: screen(pilot) == name)  # type: ignore[misc]
            await pilot.press("escape")
            await until(pilot, lambda: screen(pilot) == "ChatScreen")


async def test_a_conversation_picked_from_the_list_is_gone_on_with(
    ada: Persona, transcript: Transcript
) -> None:
    write_persona(ADA.replace("ada", "eve").replace("Ada", "Eve"), "eve.yaml")
    async with role_app(scripted("One."), transcript, first=ada).run_test() as pilot:
        await talk(pilot, "Hello, Ada.")
    async with role_app(scripted("Two."), transcript, first=load_persona("eve")).run_test() as pilot:
        await talk(pilot, "Hello, Eve.")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: screen(pilot) == "ConversationsScreen")
        await pilot.press(*"Hello, Ada")
        (hers,) = transcript.conversations("ada")
        found = pilot.app.screen.query_one(ConversationList)
        await until(pilot, lambda: found.place and found.place.conversation == hers.id)
        await pilot.press("enter")
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and "Hello, Ada." in words(pilot))


@pytest.mark.core
async def test_another_strategy_takes_over_in_the_same_conversation(
    ada: Persona, transcript: Transcript
) -> None:
    app = role_app(scripted("One.", "Two."), transcript, first=ada)
    async with app.run_test() as pilot:
        await talk(pilot, "Hello.")
        app.use_strategy("system")
        await until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen) and len(bubbles(pilot)) == 3)
        await talk(pilot, "More.")
        chat = pilot.app.screen
        assert isinstance(chat, ChatScreen)
        assert [message.made_by.get("strategy") for message in chat.session.messages] == [
            *(None, None, "few-shot-dialogue", None, "system")
        ]


async def test_who_only_looks_at_comparing_has_not_begun_a_conversation(
    ada: Persona, transcript: Transcript
) -> None:
    async with role_app(scripted("One."), transcript, first=ada).run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: bubbles(pilot) == [GREETING])
        prompt(pilot).text = "Hello."
        await pilot.press("ctrl+d")
        await until(pilot, lambda: screen(pilot) == "CompareScreen")
        await pilot.press("escape")
        await until(pilot, lambda: screen(pilot) == "ChatScreen")
        assert bubbles(pilot) == [GREETING]
        assert prompt(pilot).text == "Hello."
    assert transcript.conversations() == []


async def test_a_message_that_was_found_is_shown_on_its_branch_with_the_focus_on_it(
    ada: Persona, transcript: Transcript
) -> None:
    long = transcript.create_conversation("ada")
    parent = None
    for number in range(20):
        speaker = "ada" if number % 2 else "user"
        parent = transcript.append(
            long, parent, speaker=speaker, audience=["user", "ada"], text=f"Line {number}."
        ).id
    path = transcript.path(long)
    other = transcript.append(
        long, path[9].parent, speaker="ada", audience=["user", "ada"], text="Otherwise.", branch="other"
    )
    transcript.move_branch(long, parent, "main")
    app = role_app(scripted(), transcript)
    async with app.run_test() as pilot:
        for wanted in (path[12], other):
            app.go_on_with(long, wanted.id)
            await until(
                pilot,
                lambda wanted=wanted: (  # type: ignore[misc]
                    isinstance(app.focused, Bubble) and app.focused.text == wanted.text
                ),
            )
        assert words(pilot) == [*(f"Line {number}." for number in range(9)), "Otherwise."]


async def test_a_draft_that_cannot_be_kept_is_told(ada: Persona, transcript: Transcript) -> None:
    async with role_app(scripted("One."), transcript, first=ada).run_test() as pilot:
        await until(pilot, lambda: bubbles(pilot) == [GREETING])
        transcript.close()
        await pilot.press(*"Half a li")
        await until(pilot, lambda: str(user_paths().transcript) in status(pilot).replace("\n", ""))
        assert prompt(pilot).text == "Half a li"
        assert pilot.app.screen.query_one("#status").has_class("error")


async def test_thoughts_are_folded_above_the_answer_and_never_sent_back(
    ada: Persona, transcript: Transcript
) -> None:
    model = scripted("<think>She must not know of the boat.</think>\n\nGood day.", "Indeed.")
    async with role_app(model, transcript, first=ada).run_test() as pilot:
        await talk(pilot, "Hello.")
        assert words(pilot)[-1] == "Good day."
        last = pilot.app.screen.query(Bubble).last()
        folded = last.query_one(".thoughts", Static)
        assert (str(folded.content), folded.display) == ("▸ Thoughts, 7 words", True)
        last.focus()
        await pilot.pause()
        assert "Thoughts" in keys_offered(pilot)
        await pilot.press("f4")
        assert "not know of the boat" in str(folded.content)
        await pilot.press("f4")
        assert "boat" not in str(folded.content)
        prompt(pilot).focus()
        await talk(pilot, "And now?")
        assert not pilot.app.screen.query(Bubble).last().query_one(".thoughts").display
    assert "boat" not in str([message.content for message in model.calls[-1]])


async def test_a_line_that_could_not_be_sent_comes_back_with_the_cursor_at_its_end(
    ada: Persona, transcript: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with role_app(scripted("One."), transcript, first=ada).run_test() as pilot:
        await talk(pilot, "Hello.")
        full = StorageError("The disk is full.")
        monkeypatch.setattr(transcript, "append", Mock(side_effect=full))
        await say(pilot, "More")
        await until(pilot, lambda: "full" in status(pilot) and not answering(pilot))
        await pilot.press("x")
        await until(pilot, lambda: prompt(pilot).text == "Morex")


async def test_an_empty_answer_is_told(ada: Persona, transcript: Transcript) -> None:
    async with role_app(scripted("", "One."), transcript, first=ada).run_test() as pilot:
        await until(pilot, lambda: bubbles(pilot) == [GREETING])
        await say(pilot, "Hello.")
        await until(pilot, lambda: "empty answer" in status(pilot) and not answering(pilot))
        assert words(pilot) == ["Good day.", "Hello."]


async def test_who_goes_back_to_the_library_begins_a_new_search(
    ada: Persona, transcript: Transcript
) -> None:
    async with role_app(scripted("One."), transcript).run_test() as pilot:
        await until(pilot, lambda: screen(pilot) == "LibraryScreen" and cast(pilot))
        await pilot.press(*"ada")
        await until(pilot, lambda: cast(pilot)[:1] == ["ada"])
        await pilot.press("enter")
        await until(pilot, lambda: screen(pilot) == "ChatScreen")
        await pilot.press("ctrl+l")
        await until(pilot, lambda: screen(pilot) == "LibraryScreen")
        assert pilot.app.screen.query_one("#search", Input).value == ""
        await until(pilot, lambda: len(cast(pilot)) > 1)


@pytest.mark.parametrize("width", [60, 80, 120])
async def test_the_key_help_can_be_seen_at_any_width(
    ada: Persona, transcript: Transcript, width: int
) -> None:
    async with role_app(scripted("One."), transcript, first=ada).run_test(size=(width, 24)) as pilot:
        await until(pilot, lambda: bubbles(pilot) == [GREETING])
        footer = pilot.app.screen.query_one(KeyFooter)
        await until(pilot, lambda: footer.query("FooterKey"))
        (help_key,) = (key for key in footer.query(FooterKey) if key.key == "f1")
        await until(pilot, lambda: help_key.region.width)
        assert footer.region.contains_region(help_key.region)
        await pilot.press("f1")
        await until(pilot, lambda: screen(pilot) == "KeysScreen")
        told = {str(key.render()) for key in pilot.app.screen.query(".does").results(Static)}
        assert {
            *("Send the line.", "Insert a line break.", "Your earlier lines.", "Select a message."),
            *("To the first message.", "Scroll up.", "Find in this conversation.", "To the message above."),
        } <= told


async def test_letters_after_enter_stay_in_the_prompt_and_enter_twice_sends_once(
    ada: Persona, transcript: Transcript
) -> None:
    """They joined the message if they came before the screen had taken it."""
    async with role_app(scripted("One.", "Two."), transcript, first=ada).run_test() as pilot:
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and prompt(pilot).has_focus)
        await type_fast(pilot, *"hi", "enter", "enter", *"then")
        await until(pilot, lambda: words(pilot)[-1:] == ["One."] and not answering(pilot))
        await until(pilot, lambda: prompt(pilot).text == "then")
        assert words(pilot) == ["Good day.", "hi", "One."]

"""Small things that would annoy people every day."""

import shutil
from collections.abc import Iterator

import pytest
from helpers.role_app import answering, bubbles, prompt, role_app, say, screen, shown, status, until
from helpers.terminal import terminal
from helpers.user_files import conversation_ids, kept, write_models, write_persona
from textual import events
from textual.app import App, ComposeResult
from textual.widgets import Static

from rolellm_agents.config.paths import user_paths
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona, load_persona
from rolellm_agents.transcript import Transcript
from rolellm_tui.screens.chat import ChatScreen
from rolellm_tui.widgets.chat.bubble import Bubble
from rolellm_tui.widgets.chat.conversation_view import ConversationView
from rolellm_tui.widgets.common import status_line

PERSIAN, FAMILY = "می\u200cخواهم", "👩\u200d👩\u200d👧"
"""A word and a picture that need an invisible character."""


@pytest.fixture
def transcript() -> Iterator[Transcript]:
    with Transcript(user_paths().transcript) as opened:
        yield opened


@pytest.fixture
def ada() -> Persona:
    write_persona()
    return load_persona("ada")


@pytest.mark.core
async def test_a_long_draft_leaves_room_for_the_chat_in_a_low_terminal(
    ada: Persona, transcript: Transcript
) -> None:
    app = role_app(ScriptedChatModel(replies=["One."]), transcript, first=ada)
    async with app.run_test(size=(40, 12)) as pilot:
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and prompt(pilot).has_focus)
        prompt(pilot).put("\n".join(f"line {number}" for number in range(20)))
        await pilot.pause()
        assert prompt(pilot).size.height == 3
        assert app.screen.query_one(ConversationView).size.height >= 4
        assert "Good day." in str(app.screen.query(Bubble).first().query_one(".words", Static).content)


async def test_joiners_are_typed_into_the_prompt_also_from_a_message(
    ada: Persona, transcript: Transcript
) -> None:
    app = role_app(ScriptedChatModel(replies=["One."]), transcript, first=ada)
    async with app.run_test() as pilot:
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and prompt(pilot).has_focus)
        for letter in FAMILY:
            pilot.app.post_message(
                events.Key("zero_width_joiner" if letter == "\u200d" else letter, letter)
            )
        await until(pilot, lambda: prompt(pilot).text == FAMILY)
        await pilot.press("alt+up")
        await until(pilot, lambda: isinstance(pilot.app.focused, Bubble))
        pilot.app.post_message(events.Key("zero_width_joiner", "\u200d"))
        await until(pilot, lambda: prompt(pilot).text == f"{FAMILY}\u200d")


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
@pytest.mark.parametrize("text", [PERSIAN, FAMILY])
def test_typed_joiners_arrive(ada: Persona, text: str) -> None:
    write_models('[models.quick]\nspec = "scripted:One."\n')
    with terminal("chat", "ada", "--model", "quick") as pane:
        pane.wait_for("Say something…")
        pane.type(text)
        pane.press("Enter")
        pane.wait_for("One.", "Again")
        pane.press("C-q")
        assert pane.exit_code() == 0
    (conversation,) = conversation_ids("ada")
    assert kept(conversation)[1].text == text


async def test_an_answer_of_blanks_is_told_and_no_bare_name(ada: Persona, transcript: Transcript) -> None:
    app = role_app(ScriptedChatModel(replies=[" \n"]), transcript, first=ada)
    async with app.run_test() as pilot:
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and prompt(pilot).has_focus)
        await say(pilot, "Hello.")
        await until(pilot, lambda: "empty answer" in status(pilot) and not answering(pilot))
        assert [speaker for speaker, _, _ in bubbles(pilot)] == ["Ada", "You"]


class WaitingApp(App[None]):
    def compose(self) -> ComposeResult:
        yield status_line.StatusLine(id="status")


async def test_the_seconds_of_waiting_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_line, "_SHORT", 1)
    async with WaitingApp().run_test() as pilot:
        line = pilot.app.query_one(status_line.StatusLine)
        line.show_waiting("Ada is thinking…")
        await until(pilot, lambda: shown(line).startswith("Ada is thinking… ") and shown(line)[-1] == "s")
        line.stop_waiting()
        await until(pilot, lambda: shown(line) == "")
        line.show_waiting("Ada is thinking…")
        line.show_message("Note saved.")
        line.stop_waiting()
        await until(pilot, lambda: shown(line) == "Note saved.")


async def test_an_error_is_told_by_a_sign_as_well_as_by_its_colour() -> None:
    async with WaitingApp().run_test() as pilot:
        line = pilot.app.query_one(status_line.StatusLine)
        line.complain("The model has left.")
        await until(pilot, lambda: shown(line) == "✗ The model has left.")
        line.show_message("Note saved.")
        await until(pilot, lambda: shown(line) == "Note saved.")


async def test_an_answer_that_was_kept_from_a_comparison_has_its_prompt(
    ada: Persona, transcript: Transcript
) -> None:
    app = role_app(ScriptedChatModel(replies=["One.", "Two."]), transcript, first=ada)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and prompt(pilot).has_focus)
        prompt(pilot).text = "Hello."
        await pilot.press("ctrl+d")
        await until(pilot, lambda: screen(pilot) == "CompareScreen" and pilot.app.screen.query("VoiceForm"))
        await pilot.press("enter")
        await until(pilot, lambda: getattr(pilot.app.screen, "phase", "") == "answered")
        await pilot.press("2")
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and len(bubbles(pilot)) == 3)
        seen = pilot.app.screen
        assert isinstance(seen, ChatScreen)
        answer = seen.session.messages[-1]
        prompted = seen._provenance.of(answer.id).prompted
        assert prompted is not None
        assert prompted.strategy == answer.made_by["strategy"]


async def test_a_note_that_is_written_before_the_first_message_is_there_after_the_library(
    ada: Persona, transcript: Transcript
) -> None:
    app = role_app(ScriptedChatModel(replies=["One."]), transcript, first=ada)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and prompt(pilot).has_focus)
        await say(pilot, "/note It rains.")
        await until(pilot, lambda: transcript.draft("note:ada") == "It rains.")
        await pilot.press("ctrl+l")
        await until(pilot, lambda: screen(pilot) == "LibraryScreen")
        app.talk_with("ada")
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and pilot.app.screen.query("#prompt"))
        seen = pilot.app.screen
        assert isinstance(seen, ChatScreen)
        assert seen.session.note == "It rains."
        await say(pilot, "Hello.")
        await until(pilot, lambda: len(bubbles(pilot)) == 3 and not answering(pilot))
        assert transcript.note(transcript.conversations()[0].id) == "It rains."
        assert transcript.draft("note:ada") == ""


@pytest.mark.parametrize(
    ("command", "told"),
    [("/strategy nix", "nix"), ("/model nix:nix", "nix"), ("/set temperature 0.5", "overrides")],
)
async def test_a_command_that_the_app_refuses_is_in_the_prompt_again(
    ada: Persona, transcript: Transcript, monkeypatch: pytest.MonkeyPatch, command: str, told: str
) -> None:
    monkeypatch.setenv("ROLELLM_TEMPERATURE", "0.3")
    app = role_app(ScriptedChatModel(replies=["One."]), transcript, first=ada)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and prompt(pilot).has_focus)
        await say(pilot, command)
        await until(pilot, lambda: told in status(pilot) and not answering(pilot))
        await until(pilot, lambda: prompt(pilot).text == command)


async def test_a_chat_without_messages_keeps_its_strategy_and_the_rest_of_a_command(
    ada: Persona, transcript: Transcript
) -> None:
    file = user_paths().commands_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("commands:\n  - {name: far, steps: [/branch 99, Hello.]}\n", encoding="utf-8")
    app = role_app(ScriptedChatModel(replies=["One."]), transcript, first=ada)

    def strategy() -> str:
        seen = pilot.app.screen
        return seen.session.strategy if isinstance(seen, ChatScreen) and seen.query("#prompt") else ""

    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and prompt(pilot).has_focus)
        await say(pilot, "/far")
        await until(pilot, lambda: "/far stopped at step 1 of 2" in status(pilot) and not answering(pilot))
        prompt(pilot).text = ""
        await say(pilot, "/strategy zero-shot")
        await until(pilot, lambda: strategy() == "zero-shot")
        await pilot.press("ctrl+l")
        await until(pilot, lambda: screen(pilot) == "LibraryScreen")
        app.talk_with("ada")
        await until(pilot, lambda: strategy() == "zero-shot")
        await say(pilot, "/rest")
        await until(pilot, lambda: "/far stopped at step 1 of 2" in status(pilot) and not answering(pilot))

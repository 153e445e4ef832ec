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

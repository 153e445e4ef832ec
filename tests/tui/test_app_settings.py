"""What a change in the settings does to chats, and to those that are open."""

from collections.abc import Iterator
from typing import Any

import pytest
from helpers.role_app import answering, bubbles, prompt, say, screen, until
from helpers.user_files import ADA, write_config, write_persona
from textual.pilot import Pilot
from textual.widgets import Input, Select, Static

from rolellm_agents.config.paths import user_paths
from rolellm_agents.config.settings import load_settings
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona, load_persona
from rolellm_agents.persona.user_persona import current_user_persona
from rolellm_agents.transcript import Transcript
from rolellm_graphs.chat.session import Session
from rolellm_tui.app import RoleApp
from rolellm_tui.widgets.chat.bubble import Bubble
from rolellm_tui.widgets.library.persona_view import PersonaView

WORDS = " ".join(f"word{number}" for number in range(2000))
SIZE = (120, 60)


@pytest.fixture
def transcript() -> Iterator[Transcript]:
    with Transcript(user_paths().transcript) as opened:
        yield opened


@pytest.fixture
def ada() -> Persona:
    """Somebody who calls people by their names."""
    write_config('user_name = "Eve"\n')
    write_persona(ADA.replace("Good day.", "'Good day, {{user}}.'"))
    return load_persona("ada")


def app_of(transcript: Transcript, first: Persona, *, is_slow: bool = False) -> RoleApp:
    """The app whose sessions are as the settings say, as those of `rolellm chat` are."""
    settings = load_settings()

    def open_session(
        persona: Persona,
        conversation: str | None,
        *,
        strategy: str | None = None,
        model: str | None = None,
    ) -> Session:
        return Session(
            persona,
            transcript,
            model=ScriptedChatModel(
                replies=[WORDS if is_slow else "One."], seconds_per_word=0.1 if is_slow else 0.0
            ),
            model_name=model or "script",
            strategy=strategy or load_settings().strategy,
            conversation=conversation,
            user_name=current_user_persona(load_settings()).name,
        )

    return RoleApp(open_session, transcript, first=first, user=current_user_persona(settings).name)


def words(pilot: Pilot[Any]) -> list[str]:
    return [bubble[1] for bubble in bubbles(pilot)]


async def be(pilot: Pilot[Any], name: str) -> None:
    """Take another name in the settings, and go back."""
    below = screen(pilot)
    await pilot.press("f2")
    await until(pilot, lambda: isinstance(pilot.app.focused, Select))
    line = pilot.app.screen.query_one("#user-name").query_one(Input)
    line.focus()
    line.value = name
    await pilot.press("enter")
    await until(pilot, lambda: load_settings().user_name == name)
    await pilot.press("escape")
    await until(pilot, lambda: screen(pilot) == below)


@pytest.mark.core
async def test_another_name_is_used_in_the_chat_that_is_open_and_in_new_ones(
    ada: Persona, transcript: Transcript
) -> None:
    async with app_of(transcript, ada).run_test(size=SIZE) as pilot:
        await until(pilot, lambda: words(pilot) == ["Good day, Eve."])
        prompt(pilot).text = "Hello."
        await be(pilot, "Bob")
        await until(pilot, lambda: words(pilot) == ["Good day, Bob."])
        await say(pilot, "Hello.")
        await until(pilot, lambda: words(pilot)[-1] == "One." and not answering(pilot))
        assert bubbles(pilot)[1] == ("Bob", "Hello.", "")

        await be(pilot, "Eve")
        await until(pilot, lambda: len(words(pilot)) == 3 and bubbles(pilot)[1][0] == "Eve")
        # What was said was said to Bob.
        assert words(pilot) == ["Good day, Bob.", "Hello.", "One."]
        await pilot.press("ctrl+n")
        await until(pilot, lambda: words(pilot) == ["Good day, Eve."])


async def test_another_name_is_used_on_the_cards_of_the_library(
    ada: Persona, transcript: Transcript
) -> None:
    async with app_of(transcript, ada).run_test(size=SIZE) as pilot:
        await until(pilot, lambda: words(pilot) == ["Good day, Eve."])
        await pilot.press("ctrl+l")
        await until(pilot, lambda: screen(pilot) == "LibraryScreen")
        await pilot.press(*"ada")
        card = pilot.app.screen.query_one(PersonaView)
        greeting = card.query_one(".greeting", Static)
        await until(pilot, lambda: "Good day, Eve." in str(greeting.content))
        await be(pilot, "Bob")
        await until(pilot, lambda: "Good day, Bob." in str(greeting.content))


async def test_a_conversation_that_has_not_begun_stays_a_new_one(
    ada: Persona, transcript: Transcript
) -> None:
    async with app_of(transcript, ada).run_test(size=SIZE) as pilot:
        await until(pilot, lambda: words(pilot) == ["Good day, Eve."])
        await say(pilot, "Hello.")
        await until(pilot, lambda: words(pilot)[-1] == "One." and not answering(pilot))
        await pilot.press("ctrl+n")
        await until(pilot, lambda: words(pilot) == ["Good day, Eve."])
        await be(pilot, "Bob")
        await until(pilot, lambda: words(pilot) == ["Good day, Bob."])
    assert len(transcript.conversations()) == 1


async def test_who_changes_settings_during_an_answer_is_told_that_they_hold_from_the_next_chat_on(
    ada: Persona, transcript: Transcript
) -> None:
    async with app_of(transcript, ada, is_slow=True).run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: words(pilot) == ["Good day, Eve."])
        await say(pilot, "Tell me a story.")
        await until(pilot, lambda: "word3" in words(pilot)[-1])
        await be(pilot, "Bob")
        await until(
            pilot,
            lambda: any(
                one.message == "The settings apply from the next chat on."
                for one in pilot.app._notifications
            ),
        )
        assert answering(pilot)
        assert bubbles(pilot)[1][0] == "Eve"
        await pilot.press("ctrl+n")
        await until(pilot, lambda: words(pilot) == ["Good day, Bob."])


async def test_every_greeting_of_a_card_calls_the_person_by_name(transcript: Transcript) -> None:
    write_config('user_name = "Eve"\n')
    write_persona(ADA.replace("Good day.", "'Good day, {{user}}.'"))
    card = {"data": {"name": "Ada", "first_mes": "", "alternate_greetings": ["Good night, {{user}}."]}}
    document = {"spec": "chara_card_v2", "spec_version": "2.0", **card}
    ada = load_persona("ada").model_copy(update={"extensions": {"card": {"document": document}}})
    async with app_of(transcript, ada).run_test(size=SIZE) as pilot:
        await until(pilot, lambda: words(pilot) == ["Good day, Eve."])
        await pilot.press("alt+right")
        await until(pilot, lambda: words(pilot) == ["Good night, Eve."])
        await be(pilot, "Bob")
        await until(pilot, lambda: words(pilot) == ["Good night, Bob."])
        last = pilot.app.screen.query(Bubble).last()
        assert (last.place, last.places) == (2, 2)
        await say(pilot, "Hello.")
        await until(pilot, lambda: words(pilot)[-1] == "One." and not answering(pilot))
    (conversation,) = transcript.conversations()
    assert transcript.path(conversation.id)[0].text == "Good night, Bob."

"""The app, driven by its keys."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers.reading_model import ReadingModel
from helpers.role_app import (
    answering,
    bubbles,
    cast,
    keys_offered,
    prompt,
    role_app,
    say,
    screen,
    shown,
    status,
    until,
)
from helpers.user_files import kept, lines, write_models, write_persona
from textual import events
from textual.app import App
from textual.containers import VerticalScroll
from textual.pilot import Pilot

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_agents.models.llamacpp.files.gguf import embedded_gguf
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona, list_personas, load_persona
from rolellm_agents.transcript import Transcript
from rolellm_tui.widgets.chat.bubble import Bubble
from rolellm_tui.widgets.chat.meter import Meter
from rolellm_tui.widgets.chat.window import MOST_MOUNTED

GREETING = ("Ada", "Good day.", "")
WORDS = " ".join(f"word{number}" for number in range(2000))


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


def slow() -> ScriptedChatModel:
    """One whose answer takes longer than any test waits."""
    return ScriptedChatModel(replies=[WORDS], seconds_per_word=0.1)


async def begin_answer(pilot: Pilot[Any]) -> None:
    """Ask the slow model for something and wait for some words."""
    await say(pilot, "Tell me a story.")
    await until(pilot, lambda: "word3" in bubbles(pilot)[-1][1])


def answered(pilot: Pilot[Any], words: str) -> bool:
    """Whether an answer has come to its end, with these words as the last on the screen."""
    return [said for _, said, _ in bubbles(pilot)[-1:]] == [words] and not answering(pilot)


def last_answer(transcript: Transcript, persona: str = "ada") -> tuple[str, str]:
    """Text and status of the last message of the latest conversation."""
    latest = transcript.conversations(persona)[0].id
    message = transcript.path(latest, transcript.latest_branch(latest))[-1]
    return message.text.strip(), message.status


# The chat


@pytest.mark.core
async def test_enter_opens_the_chat_with_a_greeting_that_is_kept_only_with_the_first_line(
    ada: Persona, transcript: Transcript
) -> None:
    async with role_app(scripted("I am the reply."), transcript).run_test() as pilot:
        await pilot.press(*"ada", "enter")
        await until(pilot, lambda: bubbles(pilot) == [GREETING])
        assert transcript.conversations() == []
        assert prompt(pilot).has_focus

        await pilot.press(*"Hello.", "enter")
        await until(pilot, lambda: len(bubbles(pilot)) == 3 and not answering(pilot))
        assert bubbles(pilot) == [GREETING, ("You", "Hello.", ""), ("Ada", "I am the reply.", "")]
        assert (prompt(pilot).text, status(pilot)) == ("", "")

    (conversation,) = transcript.conversations()
    assert lines(transcript.path(conversation.id)) == [
        ("ada", "Good day.", "complete"),
        ("user", "Hello.", "complete"),
        ("ada", "I am the reply.", "complete"),
    ]


@pytest.mark.core
async def test_words_are_shown_as_they_come_and_what_is_typed_meanwhile_stays_in_the_prompt(
    ada: Persona, transcript: Transcript
) -> None:
    async with role_app(slow(), transcript, first=ada).run_test() as pilot:
        await begin_answer(pilot)
        assert bubbles(pilot)[-1][1].startswith("word0 word1 word2 word3")
        assert {"Stop"} <= keys_offered(pilot)
        assert "Again" not in keys_offered(pilot)

        await say(pilot, "Not yet.")
        await pilot.press("ctrl+r")
        await until(pilot, lambda: "word6" in bubbles(pilot)[-1][1])
        assert prompt(pilot).text == "Not yet."
        assert [speaker for speaker, _, _ in bubbles(pilot)] == ["Ada", "You", "Ada"]


@pytest.mark.core
async def test_escape_stops_the_answer_which_keeps_its_words(ada: Persona, transcript: Transcript) -> None:
    async with role_app(slow(), transcript, first=ada).run_test() as pilot:
        assert "Stop" not in keys_offered(pilot)
        await begin_answer(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: bubbles(pilot)[-1][2] == "cut off")
        words = " ".join(bubbles(pilot)[-1][1].split())
        assert last_answer(transcript) == (words, "stopped")
        await until(pilot, lambda: "Again" in keys_offered(pilot))
        assert "Stop" not in keys_offered(pilot)


@pytest.mark.core
async def test_another_answer_takes_the_place_of_the_first_and_both_are_kept(
    ada: Persona, transcript: Transcript
) -> None:
    async with role_app(scripted("One.", "Two."), transcript, first=ada).run_test() as pilot:
        await say(pilot, "Hello.")
        await until(pilot, partial(answered, pilot, "One."))
        await pilot.press("ctrl+r")
        await until(pilot, partial(answered, pilot, "Two."))
        assert bubbles(pilot) == [GREETING, ("You", "Hello.", ""), ("Ada", "Two.", "")]

    assert last_answer(transcript) == ("Two.", "complete")
    (conversation,) = transcript.conversations()
    line = transcript.path(conversation.id)[1]
    assert [answer.text for answer in transcript.children(line.id)] == ["One.", "Two."]


async def test_another_answer_that_fails_leaves_the_first_where_it_is(
    ada: Persona, transcript: Transcript
) -> None:
    model = scripted("One.", ModelError("The cable is out."))
    async with role_app(model, transcript, first=ada).run_test() as pilot:
        await say(pilot, "Hello.")
        await until(pilot, partial(answered, pilot, "One."))
        await pilot.press("ctrl+r")
        await until(pilot, lambda: status(pilot) == "The cable is out.")
        assert bubbles(pilot) == [GREETING, ("You", "Hello.", ""), ("Ada", "One.", "")]


async def test_before_the_first_line_there_is_nothing_to_answer_again(
    ada: Persona, transcript: Transcript
) -> None:
    async with role_app(scripted(), transcript, first=ada).run_test() as pilot:
        await pilot.press("ctrl+r")
        await until(pilot, lambda: status(pilot).startswith("There is nothing to answer yet"))
        assert bubbles(pilot) == [GREETING]
        assert transcript.conversations() == []


@pytest.mark.core
async def test_a_new_conversation_begins_empty_and_leaves_the_old_one_whole(
    ada: Persona, transcript: Transcript
) -> None:
    async with role_app(scripted("One.", "Two."), transcript, first=ada).run_test() as pilot:
        await say(pilot, "Hello.")
        await until(pilot, partial(answered, pilot, "One."))
        await pilot.press("ctrl+n")
        await until(pilot, lambda: bubbles(pilot) == [GREETING])
        assert len(transcript.conversations()) == 1
        await say(pilot, "Hello again.")
        await until(pilot, partial(answered, pilot, "Two."))

    latest, earlier = transcript.conversations("ada")
    assert [message.text for message in transcript.path(earlier.id)] == ["Good day.", "Hello.", "One."]
    assert [message.text for message in transcript.path(latest.id)][1:] == ["Hello again.", "Two."]


@pytest.mark.core
async def test_who_goes_to_the_library_and_comes_back_finds_the_same_conversation(
    ada: Persona, transcript: Transcript
) -> None:
    async with role_app(scripted("One.", "Two."), transcript, first=ada).run_test() as pilot:
        await say(pilot, "Hello.")
        await until(pilot, partial(answered, pilot, "One."))
        before = bubbles(pilot)
        await pilot.press("ctrl+l")
        await until(pilot, lambda: screen(pilot) == "LibraryScreen")
        assert len(cast(pilot)) == len(list_personas().found)
        await pilot.press(*"ada", "enter")
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and bubbles(pilot) == before)
        await say(pilot, "And now?")
        await until(pilot, partial(answered, pilot, "Two."))

    (conversation,) = transcript.conversations()
    assert conversation.messages == 5


@pytest.mark.core
@pytest.mark.parametrize("new", [False, True])
async def test_the_app_goes_on_with_the_last_conversation_unless_a_new_one_is_wanted(
    ada: Persona, transcript: Transcript, new: bool
) -> None:
    cut = transcript.create_conversation("ada")
    line = transcript.append(cut, None, speaker="user", audience=["user", "ada"], text="Hello.")
    answer = transcript.begin(cut, line.id, speaker="ada", audience=["user", "ada"])
    transcript.end(answer, "Well", "stopped")
    expected = [GREETING] if new else [("You", "Hello.", ""), ("Ada", "Well", "cut off")]
    async with role_app(scripted(), transcript, first=ada, new=new).run_test() as pilot:
        await until(pilot, lambda: bubbles(pilot) == expected)


async def test_of_a_long_conversation_the_last_messages_are_shown_and_the_others_when_one_scrolls_up(
    ada: Persona, transcript: Transcript
) -> None:
    long = transcript.create_conversation("ada")
    parent = None
    for number in range(2 * MOST_MOUNTED):
        speaker = "ada" if number % 2 else "user"
        parent = transcript.append(
            long, parent, speaker=speaker, audience=["user", "ada"], text=f"Line {number}."
        ).id
    async with role_app(scripted(), transcript, first=ada).run_test() as pilot:
        await until(pilot, lambda: len(pilot.app.screen.query(Bubble)) == MOST_MOUNTED)
        await until(pilot, lambda: bubbles(pilot)[-1][1] == f"Line {2 * MOST_MOUNTED - 1}.")
        newest = pilot.app.screen.query(Bubble).last()
        assert pilot.app.screen.region.contains_region(newest.region)
        oldest = pilot.app.screen.query(Bubble).first()
        assert oldest.text == f"Line {MOST_MOUNTED}."

        pilot.app.screen.query_one("#conversation", VerticalScroll).scroll_home(animate=False)
        await until(pilot, lambda: pilot.app.screen.query(Bubble).first() is not oldest)
        assert len(pilot.app.screen.query(Bubble)) == MOST_MOUNTED
        # What the person was looking at is still there.
        await until(pilot, lambda: pilot.app.screen.region.overlaps(oldest.region))


# What goes wrong


@pytest.mark.core
async def test_a_model_that_fails_is_told_and_the_line_can_be_answered_again(
    ada: Persona, transcript: Transcript
) -> None:
    model = scripted(ModelError("The cable is out [red]now[/red]."), "One.")
    async with role_app(model, transcript, first=ada).run_test() as pilot:
        await say(pilot, "Hello.")
        await until(pilot, lambda: status(pilot) == "The cable is out [red]now[/red].")
        assert pilot.app.screen.query_one("#status").has_class("error")
        assert bubbles(pilot) == [GREETING, ("You", "Hello.", "")]
        await until(pilot, lambda: "Again" in keys_offered(pilot))
        await pilot.press("ctrl+r")
        await until(pilot, partial(answered, pilot, "One."))
        assert (bubbles(pilot)[-1], status(pilot)) == (("Ada", "One.", ""), "")


async def test_a_line_that_could_not_be_recorded_goes_back_into_the_prompt(
    ada: Persona, transcript: Transcript
) -> None:
    async with role_app(scripted("One."), transcript, first=ada).run_test() as pilot:
        await until(pilot, lambda: bubbles(pilot) == [GREETING])
        transcript.close()
        await say(pilot, "Remember this.")
        await until(pilot, lambda: prompt(pilot).text == "Remember this.")
        assert str(user_paths().transcript) in status(pilot).replace("\n", "")
        assert bubbles(pilot) == [GREETING]


async def test_an_empty_line_is_not_sent(ada: Persona, transcript: Transcript) -> None:
    async with role_app(scripted("One."), transcript, first=ada).run_test() as pilot:
        await say(pilot, " \n ")
        await pilot.pause()
        assert (bubbles(pilot), status(pilot)) == ([GREETING], "")


async def test_a_model_file_that_cannot_be_loaded_is_told_before_anything_is_said(
    ada: Persona, transcript: Transcript, tmp_path: Path
) -> None:
    file = tmp_path / "cut.gguf"
    with embedded_gguf().open("rb") as whole:
        file.write_bytes(whole.read(3_000_000))
    async with role_app(ChatLlamaCpp(model_path=file), transcript, first=ada).run_test() as pilot:
        await until(pilot, lambda: "damaged" in status(pilot))
        assert pilot.app.screen.query_one("#status").has_class("error")


async def test_a_model_that_does_not_exist_is_told_in_the_library(
    ada: Persona, transcript: Transcript
) -> None:
    async with role_app("workstation", transcript).run_test(notifications=True) as pilot:
        await pilot.press(*"ada", "enter")
        await until(pilot, lambda: "no model 'workstation'" in everything_on(pilot.app))
        assert screen(pilot) == "LibraryScreen"


async def test_a_model_that_is_gone_when_one_begins_anew_is_told(
    ada: Persona, transcript: Transcript
) -> None:
    names = write_models('[models.parrot]\nspec = "scripted:Hello."\n')
    async with role_app("parrot", transcript, first=ada).run_test(notifications=True) as pilot:
        await until(pilot, lambda: bubbles(pilot) == [GREETING])
        names.unlink()
        await pilot.press("ctrl+n")
        await until(pilot, lambda: "no model 'parrot'" in everything_on(pilot.app))


def everything_on(app: App[Any]) -> str:
    """All text on the screen, notifications too, each widget's as it draws it."""
    return " ".join(" ".join(shown(widget).split()) for widget in app.screen.query("*"))


# Words from outside


def ended_with(pilot: Pilot[Any], expected: list[tuple[str, str, str]]) -> bool:
    """Whether the last bubbles are these, and nothing more is to come."""
    return bubbles(pilot)[-len(expected) :] == expected and not answering(pilot)


async def test_markup_and_sequences_in_words_are_plain_text(ada: Persona, transcript: Transcript) -> None:
    named = ada.model_copy(update={"name": "[red]Ada[/red]"})
    async with role_app(scripted(), transcript, first=named).run_test() as pilot:
        for sent, seen in {
            "[bold]x[/bold] [link=file:///etc/passwd]y[/link]": None,
            "[@click=app.quit]z[/] [": None,
            # A backslash before a mark is Markdown for the mark itself.
            r"\[x] `*_": "[x] `*_",
            "\x1b[31mred\x1b[0m \x1b]0;t\x07ok\x9b": "red ok",
        }.items():
            drawn = sent if seen is None else seen
            await say(pilot, sent)  # the model without replies repeats it
            expected = [("You", drawn, ""), ("[red]Ada[/red]", drawn, "")]
            await until(pilot, partial(ended_with, pilot, expected))
        assert "[red]Ada[/red] · script" in everything_on(pilot.app)


# The prompt


@pytest.mark.parametrize("key", ["shift+enter", "ctrl+j"])
async def test_a_key_begins_a_new_line_and_enter_sends_both(
    ada: Persona, transcript: Transcript, key: str
) -> None:
    async with role_app(scripted(""), transcript, first=ada).run_test() as pilot:
        await pilot.press(*"one", key, *"two")
        assert prompt(pilot).text == "one\ntwo"
        assert transcript.conversations() == []
        await pilot.press("enter")
        await until(
            pilot,
            lambda: len(bubbles(pilot)) > 1 and bubbles(pilot)[1][1] == "one\ntwo" and not answering(pilot),
        )

    assert last_answer(transcript) == ("one\ntwo", "complete")


@pytest.mark.core
async def test_several_pasted_lines_stay_one_message(ada: Persona, transcript: Transcript) -> None:
    async with role_app(scripted(), transcript, first=ada).run_test() as pilot:
        await until(pilot, lambda: prompt(pilot).has_focus)
        pilot.app.post_message(events.Paste("one\ntwo\n\n四"))
        await until(pilot, lambda: prompt(pilot).text == "one\ntwo\n\n四")
        assert transcript.conversations() == []
        await pilot.press("enter")
        await until(pilot, lambda: len(bubbles(pilot)) == 3 and not answering(pilot))

    assert last_answer(transcript) == ("one\ntwo\n\n四", "complete")


# Leaving


@pytest.mark.core
@pytest.mark.parametrize("key", ["ctrl+q", "ctrl+l", "ctrl+n"])
async def test_leaving_in_mid_answer_keeps_its_words(
    ada: Persona, transcript: Transcript, key: str
) -> None:
    async with role_app(slow(), transcript, first=ada).run_test() as pilot:
        await begin_answer(pilot)
        seen = " ".join(bubbles(pilot)[-1][1].split())
        await pilot.press(key)
        await until(pilot, lambda: not pilot.app.is_running or last_answer(transcript)[1] == "stopped")

    (conversation,) = transcript.conversations()
    answer = kept(conversation.id)[-1]
    assert answer.text.strip().startswith(seen)
    assert WORDS.startswith(answer.text.strip())
    assert answer.status == "stopped"


# Pictures

SnapCompare = Callable[..., bool]


@pytest.mark.core
def test_a_chat_looks_as_it_did(ada: Persona, transcript: Transcript, snap_compare: SnapCompare) -> None:
    async def talk(pilot: Pilot[Any]) -> None:
        prompt(pilot).cursor_blink = False
        await say(pilot, "What is that?")
        await until(pilot, lambda: len(bubbles(pilot)) == 3 and not answering(pilot))
        pilot.app.screen.query_one(Meter).display = False  # it tells how fast this machine is

    app = role_app(scripted("A chart, and 一张地图."), transcript, first=ada)
    assert snap_compare(app, run_before=talk)


async def test_what_is_typed_is_read_ahead_before_it_is_sent(transcript: Transcript, ada: Persona) -> None:
    model = ReadingModel(replies=["Fine."])
    async with role_app(model, transcript, first=ada).run_test() as pilot:
        await until(pilot, lambda: model.readings)
        assert model.loads == 1
        prompt(pilot).text = "How are"
        await until(pilot, lambda: model.readings[-1].texts[-1].endswith("How are"))
        assert not bubbles(pilot)[-1][1].endswith("How are")
        read_so_far = len(model.readings)
        await say(pilot, "How are you?")
        await until(pilot, lambda: answered(pilot, "Fine.") and len(model.readings) > read_so_far)

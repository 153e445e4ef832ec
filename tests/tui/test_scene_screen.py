"""A scene on the screen, driven by its keys."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from helpers.piloting import keys_offered, until
from helpers.screen_app import ScreenApp, hold_still, name_of_screen, text_of
from textual.pilot import Pilot

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import ModelError
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.scene import NARRATOR, Scene, cast_scene
from rolellm_agents.transcript import Message, Transcript
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.stage import Stage
from rolellm_tui.screens.scene import SceneScreen
from rolellm_tui.widgets.common.status_line import ERROR_SIGN
from rolellm_tui.widgets.scene.cast_panel import CastPanel
from rolellm_tui.widgets.scene.line import SceneLineView
from rolellm_tui.widgets.scene.player import Player
from rolellm_tui.widgets.scene.prompt import ScenePrompt
from rolellm_tui.widgets.scene.text import PAGE, SceneText

FERRY: dict[str, Any] = {
    "id": "ferry",
    "title": "The Ferry",
    "setting": "A ferry in fog; the shore is gone.",
    "time": "Before dawn.",
    "cast": [
        {"id": "ann", "name": "Ann Grey", "secrets": ["You have cut the rope."], "talkativeness": 0.8},
        {"id": "ben", "name": "Ben Stone", "about": "You steer."},
        {"id": "cat", "name": "Cat Moore"},
        {"id": "dan", "name": "Dan Wells", "present": False},
    ],
    "opening": [{"text": "A bell rings, far off."}],
    "director": "round-robin",
    "manners": ["say", "act", "whisper", "think"],
    "stop": {"turns": 12, "silent": 9},
    "seed": 3,
}
WIDE = (120, 40)
NARROW = (80, 24)
WORDS = " ".join(f"word{number}" for number in range(2000))


@pytest.fixture
def transcript() -> Iterator[Transcript]:
    with Transcript(user_paths().transcript) as opened:
        yield opened


def scripted(*replies: str | Exception) -> ScriptedChatModel:
    return ScriptedChatModel(replies=list(replies), once=True)


def slow() -> ScriptedChatModel:
    """One whose answer takes longer than any test waits."""
    return ScriptedChatModel(replies=[WORDS], seconds_per_word=0.1)


def ferry(
    transcript: Transcript, model: ScriptedChatModel, *, persons: tuple[str, ...] = (), **changed: Any
) -> Stage:
    scene = Scene.model_validate({**FERRY, **changed})
    return Stage(Ensemble(cast_scene(scene), model=model), transcript, persons=persons)


def endless(transcript: Transcript) -> Stage:
    replies = [f"Wave {number} comes, and {number * number} follow it." for number in range(5000)]
    model = ScriptedChatModel(replies=replies)
    return ferry(transcript, model, stop={"turns": 5000, "silent": 5000})


def app_of(stage: Stage) -> ScreenApp:
    return ScreenApp(SceneScreen(stage, pause=0), stage_transcript(stage))


def stage_transcript(stage: Stage) -> Transcript:
    return stage._transcript


def scene(pilot: Pilot[Any]) -> SceneScreen:
    return next(one for one in pilot.app.screen_stack if isinstance(one, SceneScreen))


def playing(pilot: Pilot[Any]) -> bool:
    return scene(pilot).query_one(Player).playing


def told(pilot: Pilot[Any]) -> list[str]:
    """The lines on the screen, each in one line."""
    return [" ".join(line.content_now.plain.split()) for line in scene(pilot).query(SceneLineView)]


def last(pilot: Pilot[Any]) -> str:
    """The last line; empty while there is none."""
    return next(reversed(told(pilot)), "")


def words(stage: Stage) -> list[str]:
    return [message.text for message in stage.messages]


def status(pilot: Pilot[Any]) -> str:
    return text_of(pilot, "#status").removeprefix(f"{ERROR_SIGN} ")


def course(pilot: Pilot[Any]) -> str:
    return text_of(pilot, "#course")


def cast(pilot: Pilot[Any]) -> str:
    return text_of(pilot, "#cast")


def prompt(pilot: Pilot[Any]) -> ScenePrompt:
    return scene(pilot).query_one(ScenePrompt)


async def opened(pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: name_of_screen(pilot) == "SceneScreen" and scene(pilot).query(SceneText))
    await until(pilot, lambda: status(pilot) == "")


async def at_rest(pilot: Pilot[Any], turns: int) -> None:
    """Wait until so many turns are over, and nothing is on its way."""
    stage = scene(pilot).stage
    await until(pilot, lambda: stage.turns == turns and not scene(pilot).busy and not stage.answering)


async def step(pilot: Pilot[Any]) -> None:
    turns = scene(pilot).stage.turns
    await pilot.press("f6")
    await at_rest(pilot, turns + 1)


async def type_in(pilot: Pilot[Any], text: str) -> None:
    prompt(pilot).focus()
    prompt(pilot).text = text
    await pilot.press("enter")


# The running text


async def test_a_scene_that_has_not_begun_tells_where_it_is_and_how_to_begin(
    transcript: Transcript,
) -> None:
    async with app_of(ferry(transcript, scripted())).run_test(size=NARROW) as pilot:
        await opened(pilot)
        setting = text_of(pilot, ".setting")
        assert "The Ferry" in setting
        assert "A ferry in fog" in setting
        assert "Ann Grey, Ben Stone, Cat Moore" in setting
        assert "Dan" not in setting
        assert "Enter plays one turn" in text_of(pilot, "#prompt")
        assert "turn 0 of 12" in course(pilot)
    assert transcript.conversations() == []


@pytest.mark.core
async def test_what_is_said_whispered_thought_done_and_narrated_is_told_apart(
    transcript: Transcript,
) -> None:
    model = scripted(
        "Who is there?",
        "(whispers to Ann Grey) Be quiet.",
        "(thinks) They whisper again.",
        "*lights a lamp and holds it over the side*",
    )
    async with app_of(ferry(transcript, model)).run_test(size=WIDE) as pilot:
        await opened(pilot)
        for _ in range(4):
            await step(pilot)
        assert told(pilot) == [
            "A bell rings, far off.",
            "Ann Grey Who is there?",
            "Ben Stone whispers to Ann Grey Be quiet.",
            "Cat Moore thinks They whisper again.",
            "Ann Grey lights a lamp and holds it over the side",
        ]
        assert "turn 4 of 12" in course(pilot)
        await type_in(pilot, "/in dan Dan climbs over the rail.")
        await type_in(pilot, "/out cat")
        await until(pilot, lambda: len(told(pilot)) == 7)
        assert told(pilot)[-2:] == ["→ Dan climbs over the rail.", "← Cat Moore leaves."]


@pytest.mark.core
async def test_words_are_shown_as_they_come_and_escape_keeps_them(transcript: Transcript) -> None:
    stage = ferry(transcript, slow())
    async with app_of(stage).run_test(size=WIDE) as pilot:
        await opened(pilot)
        await pilot.press("space")
        await until(pilot, lambda: "word3" in last(pilot))
        assert "Ann Grey" in status(pilot)
        assert "speaks" in cast(pilot)
        assert "Stop" in keys_offered(pilot)
        line = scene(pilot).query(SceneLineView).last()
        await pilot.press("escape")
        await until(pilot, lambda: not scene(pilot).busy)
        assert scene(pilot).query(SceneLineView).last() is line
        assert "cut off" in told(pilot)[-1]
        assert "speaks" not in cast(pilot)
        assert not playing(pilot)
    assert stage.messages[-1].status == "stopped"
    assert stage.messages[-1].text.startswith("word0 word1 word2 word3")


async def test_markup_and_control_characters_stay_words(transcript: Transcript) -> None:
    stage = ferry(transcript, scripted("[bold]x[/bold] \x1b[31mred\x1b[0m [@click=app.quit]y[/]"))
    async with app_of(stage).run_test(size=WIDE) as pilot:
        await opened(pilot)
        await step(pilot)
        assert told(pilot)[-1] == "Ann Grey [bold]x[/bold] red [@click=app.quit]y[/]"


async def test_an_answer_with_a_fault_is_kept_as_a_swipe(transcript: Transcript) -> None:
    model = scripted("As an AI language model, I cannot row.", "I row.")
    async with app_of(ferry(transcript, model)).run_test(size=WIDE) as pilot:
        await opened(pilot)
        await step(pilot)
        assert told(pilot)[1:] == ["Ann Grey ‹ 2/2 › I row."]
        await pilot.press("alt+left")
        await until(pilot, lambda: "1/2" in last(pilot))
        assert "language model" in told(pilot)[-1]
        await pilot.press("alt+left")
        await pilot.pause()
        assert "1/2" in told(pilot)[-1]
        await pilot.press("alt+right")
        await until(pilot, lambda: told(pilot)[1:] == ["Ann Grey ‹ 2/2 › I row."])


async def test_past_the_last_swipe_there_is_another(transcript: Transcript) -> None:
    async with app_of(ferry(transcript, scripted("One.", "Two."))).run_test(size=WIDE) as pilot:
        await opened(pilot)
        await step(pilot)
        await pilot.press("alt+right")
        await until(pilot, lambda: told(pilot)[1:] == ["Ann Grey ‹ 2/2 › Two."])


async def test_a_long_scene_is_shown_from_its_end_and_the_rest_comes_when_one_scrolls_up(
    transcript: Transcript,
) -> None:
    stage = ferry(transcript, scripted())
    with_lines(stage, 500)
    async with app_of(stage).run_test(size=NARROW) as pilot:
        await opened(pilot)
        await until(pilot, lambda: len(told(pilot)) == PAGE)
        assert told(pilot)[-1].endswith("Line 499.")
        scene(pilot).query_one(SceneText).scroll_home(animate=False)
        await until(pilot, lambda: len(told(pilot)) == 2 * PAGE)
        assert told(pilot)[-1].endswith("Line 499.")
        assert told(pilot)[0].endswith(f"Line {500 - 2 * PAGE}.")


def with_lines(stage: Stage, count: int) -> None:
    """Let so much have been said before."""
    stage.let_in("dan")
    for number in range(count):
        stage._path = [*stage._path, _said(stage, f"Line {number}.")]


def _said(stage: Stage, text: str) -> Message:
    return stage._append(stage._path, "ann", text, audience=("ann", "ben", "cat"))


# Who knows what


@pytest.mark.core
async def test_choosing_a_seat_shows_what_it_witnessed_and_escape_shows_everything(
    transcript: Transcript,
) -> None:
    model = scripted("Hello.", "(whispers to Ann Grey) Be quiet.", "(thinks) They whisper.")
    async with app_of(ferry(transcript, model)).run_test(size=WIDE) as pilot:
        await opened(pilot)
        for _ in range(3):
            await step(pilot)
        assert "knows 3 of 4" in cast(pilot)
        await pilot.press("f7", "down", "down")
        await until(pilot, lambda: len(told(pilot)) == 3)
        assert told(pilot)[-1] == "Ben Stone whispers to Ann Grey Be quiet."
        assert "As Ben Stone saw it · 3 of 4 lines" in text_of(pilot, "#banner")
        assert "You steer." in text_of(pilot, "#sheet Static")
        assert "rope" not in text_of(pilot, "#sheet Static")
        await pilot.press("down")
        await until(pilot, lambda: "As Cat Moore saw it" in text_of(pilot, "#banner"))
        assert told(pilot)[-2:] == ["Ann Grey Hello.", "Cat Moore thinks They whisper."]
        await pilot.press("escape")
        await until(pilot, lambda: len(told(pilot)) == 4)
        assert not scene(pilot).query_one("#banner").display
        assert scene(pilot).query_one(CastPanel).seat is None


async def test_what_is_whispered_to_others_is_not_shown_while_it_is_said(transcript: Transcript) -> None:
    model = ScriptedChatModel(replies=["Hello.", f"(whispers to Ann Grey) {WORDS}"], seconds_per_word=0.01)
    stage = ferry(transcript, model)
    async with app_of(stage).run_test(size=WIDE) as pilot:
        await opened(pilot)
        await step(pilot)
        await pilot.press("f7", "down", "down", "down")
        await until(pilot, lambda: "As Cat Moore" in text_of(pilot, "#banner"))
        await pilot.press("space")
        await until(pilot, lambda: scene(pilot).stage.tree()[-1].kind == "whisper")
        await pilot.pause(0.2)
        assert told(pilot) == ["A bell rings, far off.", "Ann Grey Hello."]
        assert "Ben" not in status(pilot)
        assert "speaks" not in cast(pilot)
        await pilot.press("up")
        await until(pilot, lambda: "whispers to Ann Grey word0" in last(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: not scene(pilot).busy)


async def test_with_ones_own_eyes_one_stays_in_the_view_of_ones_seat_while_it_plays(
    transcript: Transcript,
) -> None:
    stage = ferry(transcript, scripted("Hello.", "(whispers to Ann Grey) Be quiet."), persons=("cat",))
    async with app_of(stage).run_test(size=WIDE) as pilot:
        await opened(pilot)
        await pilot.press("f3", "f5")
        await until(pilot, lambda: "your turn" in course(pilot))
        assert "As Cat Moore saw it · 2 of 3 lines · F3 shows all" in text_of(pilot, "#banner")
        assert told(pilot)[1:] == ["Ann Grey Hello."]
        await pilot.press("f3")
        await until(pilot, lambda: len(told(pilot)) == 3)


async def test_where_there_is_no_room_the_cast_comes_by_its_key_and_goes_again(
    transcript: Transcript,
) -> None:
    async with app_of(ferry(transcript, scripted())).run_test(size=NARROW) as pilot:
        await opened(pilot)
        panel = scene(pilot).query_one(CastPanel)
        assert panel.size.width == 0
        await pilot.press("k")
        await until(pilot, lambda: panel.has_focus and panel.size.width > 20)
        assert "not there" in cast(pilot)
        await pilot.press("k")
        await until(pilot, lambda: panel.size.width == 0)
        assert scene(pilot).query_one(SceneText).has_focus


# Playing


@pytest.mark.core
async def test_turn_follows_turn_until_one_rests(transcript: Transcript) -> None:
    waves = [f"Wave {number}." for number in range(50)]
    stage = ferry(transcript, ScriptedChatModel(replies=waves, seconds_per_word=0.1))
    async with app_of(stage).run_test(size=WIDE) as pilot:
        await opened(pilot)
        await pilot.press("space")
        await until(pilot, lambda: playing(pilot))
        await until(pilot, lambda: stage.turns >= 3)
        await pilot.press("space")
        await until(pilot, lambda: not scene(pilot).busy)
        turns = stage.turns
        await pilot.pause(0.1)
        assert stage.turns == turns
        assert "paused" in course(pilot)


async def test_two_keys_do_not_begin_two_turns(transcript: Transcript) -> None:
    stage = ferry(transcript, slow())
    async with app_of(stage).run_test(size=WIDE) as pilot:
        await opened(pilot)
        await pilot.press("s", "s", "space", "n", "ctrl+r", "ctrl+z")
        await type_in(pilot, "/next cat")
        await type_in(pilot, "Not yet.")
        await until(pilot, lambda: "word2" in last(pilot))
        assert "press Escape to stop" in status(pilot)
        assert prompt(pilot).text == "Not yet."
        assert len(told(pilot)) == 2
        await pilot.press("escape")
        await until(pilot, lambda: not scene(pilot).busy)
    assert len(stage.tree()) == 2


async def test_the_pause_between_turns_is_made_longer_and_shorter(transcript: Transcript) -> None:
    stage = ferry(transcript, scripted("One.", "Two."))
    async with app_of(stage).run_test(size=WIDE) as pilot:
        await opened(pilot)
        await pilot.press("plus", "plus", "plus", "plus", "plus", "plus", "plus", "space")
        await until(pilot, lambda: stage.turns == 1 and not scene(pilot).busy)
        assert "pause 8 s" in course(pilot)
        await pilot.press("minus")
        assert "pause 4 s" in course(pilot)
        await pilot.press("s")  # a key need not wait for the pause
        await at_rest(pilot, 2)
        assert "paused" in course(pilot)


async def test_the_next_speaker_is_chosen(transcript: Transcript) -> None:
    stage = ferry(transcript, scripted("I was asked.", "And I."))
    async with app_of(stage).run_test(size=WIDE) as pilot:
        await opened(pilot)
        await pilot.press("n")
        await until(pilot, lambda: name_of_screen(pilot) == "PickSeatScreen")
        await pilot.press("3")
        await at_rest(pilot, 1)
        assert told(pilot)[-1] == "Cat Moore I was asked."
        assert "You chose." in status(pilot)
        await pilot.press("n")
        await until(pilot, lambda: name_of_screen(pilot) == "PickSeatScreen")
        await pilot.press("down", "enter")
        await at_rest(pilot, 2)
        assert told(pilot)[-1] == "Ben Stone And I."


async def test_who_chooses_the_next_speaker_while_it_plays_lets_it_play_on(transcript: Transcript) -> None:
    stage = endless(transcript)
    async with app_of(stage).run_test(size=WIDE) as pilot:
        await opened(pilot)
        await pilot.press("plus", "plus", "plus", "plus", "plus", "space")
        await until(pilot, lambda: stage.turns == 1 and not scene(pilot).busy)
        await pilot.press("n")
        await until(pilot, lambda: name_of_screen(pilot) == "PickSeatScreen")
        await pilot.press("3")
        await at_rest(pilot, 2)
        assert [one.speaker for one in stage.messages[1:]] == ["ann", "cat"]
        assert playing(pilot)
        await pilot.press("minus", "minus", "minus", "minus", "minus", "space", "space")
        await until(pilot, lambda: stage.turns > 3)


async def test_a_director_who_waits_to_be_told_asks(transcript: Transcript) -> None:
    stage = ferry(transcript, scripted("Me.", "Me again."), director="manual")
    async with app_of(stage).run_test(size=WIDE) as pilot:
        await opened(pilot)
        await pilot.press("space")
        await until(pilot, lambda: name_of_screen(pilot) == "PickSeatScreen")
        await pilot.press("2")
        await until(pilot, lambda: stage.turns == 1 and name_of_screen(pilot) == "PickSeatScreen")
        await pilot.press("escape")
        await until(pilot, lambda: name_of_screen(pilot) == "SceneScreen")
        assert told(pilot)[-1] == "Ben Stone Me."
        assert not playing(pilot)


async def test_somebody_highlighted_in_the_cast_speaks_comes_in_and_leaves(transcript: Transcript) -> None:
    stage = ferry(transcript, scripted("Here I am."))
    async with app_of(stage).run_test(size=WIDE) as pilot:
        await opened(pilot)
        await pilot.press("f7", "down", "down", "down", "down", "i")
        await until(pilot, lambda: "dan" in stage.present)
        await pilot.press("n")
        await at_rest(pilot, 1)
        await pilot.press("i")
        await until(pilot, lambda: "dan" not in stage.present)
        assert words(stage) == [
            "Dan Wells comes in.",
            "A bell rings, far off.",
            "Here I am.",
            "Dan Wells leaves.",
        ]


async def test_the_end_is_told_and_what_can_be_done_then(transcript: Transcript) -> None:
    stage = ferry(transcript, scripted("One.", "Two."), stop={"turns": 2})
    async with app_of(stage).run_test(size=WIDE) as pilot:
        await opened(pilot)
        await pilot.press("space")
        await until(pilot, lambda: "over" in course(pilot))
        over = text_of(pilot, ".over")
        assert "The scene is over. It has had its 2 turns." in over
        assert "Ctrl+Z undo the last turn" in over
        assert not playing(pilot)
        await pilot.press("space")
        await until(pilot, lambda: "The scene is over" in status(pilot))
        await pilot.press("ctrl+z")
        await until(pilot, lambda: stage.turns == 1)
        assert not scene(pilot).query_one(".over").display


async def test_a_model_that_fails_stops_the_play_and_is_told_in_a_sentence(transcript: Transcript) -> None:
    stage = ferry(transcript, scripted("One.", ModelError("The model has left; start it again."), "Two."))
    async with app_of(stage).run_test(size=WIDE) as pilot:
        await opened(pilot)
        await pilot.press("space")
        await until(pilot, lambda: status(pilot) == "The model has left; start it again.")
        await until(pilot, lambda: not scene(pilot).busy)
        assert not playing(pilot)
        await pilot.press("s")
        await at_rest(pilot, 2)
        assert told(pilot)[-1].endswith("Two.")


# A person in a seat


@pytest.mark.core
async def test_a_persons_turn_gets_the_focus_and_the_play_goes_on_behind_it(transcript: Transcript) -> None:
    stage = ferry(transcript, scripted("Hello.", "Yes?", "No."), persons=("ben",), stop={"turns": 4})
    async with app_of(stage).run_test(size=WIDE) as pilot:
        await opened(pilot)
        assert prompt(pilot).has_focus
        await pilot.press("f5")
        await until(pilot, lambda: "your turn" in course(pilot))
        assert prompt(pilot).has_focus
        assert "Ben Stone: it is your turn" in str(prompt(pilot).border_title)
        await pilot.press(*"Row!", "enter")
        await until(pilot, lambda: "over" in course(pilot))
        assert words(stage)[1:] == ["Hello.", "Row!", "Yes?", "No."]
        assert stage.messages[2].speaker == "ben"
        assert stage.messages[2].made_by == {"person": True}


@pytest.mark.core
async def test_what_is_typed_is_whispered_done_thought_and_narrated(transcript: Transcript) -> None:
    stage = ferry(transcript, scripted(), persons=("ann",))
    async with app_of(stage).run_test(size=WIDE) as pilot:
        await opened(pilot)
        for count, line in enumerate(
            ("Hello.", "/w ben be quiet", "/me sits down", "/think He knows.", "/narrate Fog."), 2
        ):
            await type_in(pilot, line)
            await until(pilot, lambda count=count: len(told(pilot)) == count and not scene(pilot).busy)  # type: ignore[misc]
        assert [(one.speaker, one.kind, one.audience) for one in stage.messages[1:]] == [
            ("ann", "say", ("ann", "ben", "cat")),
            ("ann", "whisper", ("ann", "ben")),
            ("ann", "act", ("ann", "ben", "cat")),
            ("ann", "think", ("ann",)),
            (NARRATOR, "narrate", ("ann", "ben", "cat")),
        ]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("/whisper nobody hush", "Nobody here is called 'nobody'"),
        ("/dance", "There is no command /dance"),
        ("/next zoe", "No one is named 'zoe'"),
        ("/in", "/in needs a name"),
        ("/act", "There is no text after /act"),
    ],
)
async def test_what_cannot_be_understood_stays_in_the_line(
    transcript: Transcript, line: str, complaint: str
) -> None:
    stage = ferry(transcript, scripted(), persons=("ann",))
    async with app_of(stage).run_test(size=WIDE) as pilot:
        await opened(pilot)
        await type_in(pilot, line)
        await until(pilot, lambda: complaint in status(pilot))
        assert prompt(pilot).text == line
    assert stage.messages == ()


async def test_words_of_somebody_who_is_not_there_come_back(transcript: Transcript) -> None:
    stage = ferry(transcript, scripted(), persons=("dan",))
    async with app_of(stage).run_test(size=WIDE) as pilot:
        await opened(pilot)
        await type_in(pilot, "Hello?")
        await until(pilot, lambda: "Dan Wells is not present" in status(pilot))
        assert prompt(pilot).text == "Hello?"


async def test_a_turn_that_is_skipped_is_anothers(transcript: Transcript) -> None:
    stage = ferry(transcript, scripted("Hello.", "I will.", "So will I."), persons=("ben",))
    async with app_of(stage).run_test(size=WIDE) as pilot:
        await opened(pilot)
        await step(pilot)
        await pilot.press("f6")
        await until(pilot, lambda: "your turn" in course(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: "/skip" in status(pilot))
        assert stage.turns == 1
        await type_in(pilot, "/skip")
        await at_rest(pilot, 2)
        assert stage.messages[-1].speaker == "cat"
        assert "your turn" not in course(pilot)
        await type_in(pilot, "/skip")
        await until(pilot, lambda: "no turn to skip" in status(pilot))


async def test_a_seat_is_taken_and_given_back(transcript: Transcript) -> None:
    stage = ferry(transcript, scripted("I am a model."))
    async with app_of(stage).run_test(size=WIDE) as pilot:
        await opened(pilot)
        assert prompt(pilot).border_title == "Narrator"
        await pilot.press("f7", "down", "t")
        await until(pilot, lambda: stage.persons == ("ann",))
        assert prompt(pilot).border_title == "Ann Grey"
        assert "you" in cast(pilot)
        await pilot.press("f6")
        await until(pilot, lambda: "your turn" in course(pilot))
        await pilot.press("f7", "t")
        await until(pilot, lambda: stage.persons == ())
        assert prompt(pilot).border_title == "Narrator"
        await step(pilot)
        assert told(pilot)[-1] == "Ann Grey I am a model."


async def test_who_sits_on_the_narrators_chair_tells_what_happens(transcript: Transcript) -> None:
    stage = ferry(transcript, scripted("*waves*", "*waves back*"), narrator={"every": 1})
    async with app_of(stage).run_test(size=WIDE) as pilot:
        await opened(pilot)
        await pilot.press("f7", "up", "t")
        await until(pilot, lambda: stage.persons == (NARRATOR,))
        assert prompt(pilot).border_title == "Narrator"
        assert "As" not in text_of(pilot, "#banner")
        await step(pilot)
        await step(pilot)
        await type_in(pilot, "Nobody sees it.")
        await until(pilot, lambda: told(pilot)[-1] == "Nobody sees it.")
        assert [one.speaker for one in stage.messages] == [NARRATOR, "ann", "ben", NARRATOR]
        await pilot.press("f7", "t")
        await until(pilot, lambda: stage.persons == ())


async def test_one_speaks_as_each_of_ones_seats_and_as_the_narrator(transcript: Transcript) -> None:
    stage = ferry(transcript, scripted(), persons=("ann", "cat"))
    async with app_of(stage).run_test(size=WIDE) as pilot:
        await opened(pilot)
        titles = []
        for _ in range(4):
            titles.append(prompt(pilot).border_title)
            await pilot.press("f4")
        assert titles == ["Ann Grey", "Cat Moore", "Narrator", "Ann Grey"]
        await type_in(pilot, "/as narrator")
        await type_in(pilot, "The fog lifts.")
        await until(pilot, lambda: words(stage)[-1:] == ["The fog lifts."] and not scene(pilot).busy)
        assert stage.messages[-1].speaker == NARRATOR
        await type_in(pilot, "/whisper ann psst")
        await until(pilot, lambda: "here to whisper to" in status(pilot))


async def test_enter_alone_lets_the_next_one_speak(transcript: Transcript) -> None:
    stage = ferry(transcript, scripted("Hello."))
    async with app_of(stage).run_test(size=WIDE) as pilot:
        await opened(pilot)
        await type_in(pilot, "")
        await at_rest(pilot, 1)


# Walking in the tree


async def test_what_was_done_is_taken_back_and_done_again(transcript: Transcript) -> None:
    stage = ferry(transcript, scripted("One.", "Two."))
    async with app_of(stage).run_test(size=WIDE) as pilot:
        await opened(pilot)
        await step(pilot)
        await step(pilot)
        await pilot.press("ctrl+z")
        await until(pilot, lambda: told(pilot)[-1] == "Ann Grey One.")
        await pilot.press("ctrl+y")
        await until(pilot, lambda: told(pilot)[-1] == "Ben Stone Two.")
        await pilot.press("ctrl+y")
        await until(pilot, lambda: status(pilot) == "Nothing to redo.")


async def test_again_is_another_swipe_by_the_same_speaker(transcript: Transcript) -> None:
    stage = ferry(transcript, scripted("One.", "Two."))
    async with app_of(stage).run_test(size=WIDE) as pilot:
        await opened(pilot)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: "Nobody has spoken yet" in status(pilot))
        await step(pilot)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: told(pilot)[1:] == ["Ann Grey ‹ 2/2 › Two."] and not scene(pilot).busy)


async def test_a_branch_begins_at_the_line_under_the_cursor(transcript: Transcript) -> None:
    stage = ferry(transcript, scripted("One.", "Two.", "Other two."))
    async with app_of(stage).run_test(size=WIDE) as pilot:
        await opened(pilot)
        await step(pilot)
        await step(pilot)
        await pilot.press("up", "up", "b")
        await until(pilot, lambda: stage.branch_name == "branch-2")
        assert told(pilot)[-1] == "Ann Grey One."
        await step(pilot)
        assert words(stage)[1:] == ["One.", "Other two."]
        await pilot.press("ctrl+t")
        await until(pilot, lambda: name_of_screen(pilot) == "TreeScreen")
        await until(pilot, lambda: "The Ferry · 4 messages · 2 branches" in text_of(pilot, "#tree-title"))
        assert "Ben Stone" in text_of(pilot, "#tree")
        await pilot.press("slash", *"Two.", "escape", "n")
        await pilot.press("enter")
        await until(pilot, lambda: name_of_screen(pilot) == "SceneScreen")


@pytest.mark.core
async def test_why_shows_the_very_prompt_of_what_was_said(transcript: Transcript) -> None:
    stage = ferry(transcript, scripted("One.", "Two."), persons=("cat",))
    async with app_of(stage).run_test(size=WIDE) as pilot:
        await opened(pilot)
        await step(pilot)
        await step(pilot)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: name_of_screen(pilot) == "InspectorScreen")
        await until(pilot, lambda: "You are Ben Stone." in text_of(pilot, "PromptView"))
        assert "Ann Grey: One." in text_of(pilot, "PromptView")
        await pilot.press("escape")
        scene(pilot).query_one(SceneText).focus()
        await pilot.press("up", "up", "w")
        await until(pilot, lambda: name_of_screen(pilot) == "InspectorScreen")
        await until(pilot, lambda: "You are Ann Grey." in text_of(pilot, "PromptView"))
        assert "One." not in text_of(pilot, "PromptView")
        await pilot.press("escape", "up", "w")
        await until(pilot, lambda: "Only answers of a model" in status(pilot))


async def test_leaving_in_mid_turn_keeps_its_words(transcript: Transcript) -> None:
    stage = ferry(transcript, slow())
    app = app_of(stage)
    async with app.run_test(size=WIDE) as pilot:
        await opened(pilot)
        await pilot.press("space")
        await until(pilot, lambda: "word2" in last(pilot))
        await pilot.press("ctrl+l")
        await until(pilot, lambda: app.left)
        await until(pilot, lambda: stage.messages[-1].status == "stopped")


# Pictures

SnapCompare = Callable[..., bool]


def hold_picture(pilot: Pilot[Any]) -> None:
    """Nothing blinks, and nothing tells how long the prompts are."""
    hold_still(pilot)
    scene(pilot).query_one("#figures").display = False


def played(transcript: Transcript) -> Stage:
    model = scripted(
        "Who is there? I heard an oar, and nobody rows out there before dawn.",
        "(whispers to Ann Grey) Be quiet. It is the custom-house boat, and she knows our lamp.",
        "(thinks) They whisper again, and each time the rope is shorter.",
        "*lights the lamp and holds it over the side, as if it were somebody else's*",
    )
    return ferry(transcript, model, persons=())


async def play(pilot: Pilot[Any]) -> None:
    await opened(pilot)
    for _ in range(4):
        await step(pilot)
    hold_picture(pilot)


@pytest.mark.core
def test_a_scene_looks_as_it_did(transcript: Transcript, snap_compare: SnapCompare) -> None:
    assert snap_compare(app_of(played(transcript)), run_before=play, terminal_size=WIDE)


def test_a_scene_in_a_small_terminal_looks_as_it_did(
    transcript: Transcript, snap_compare: SnapCompare
) -> None:
    assert snap_compare(app_of(played(transcript)), run_before=play, terminal_size=NARROW)


def test_a_scene_as_somebody_saw_it_looks_as_it_did(
    transcript: Transcript, snap_compare: SnapCompare
) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await play(pilot)
        await pilot.press("f7", "down", "down", "down")
        await until(pilot, lambda: "As Cat Moore" in text_of(pilot, "#banner"))

    assert snap_compare(app_of(played(transcript)), run_before=look, terminal_size=WIDE)


def test_a_persons_turn_looks_as_it_did(transcript: Transcript, snap_compare: SnapCompare) -> None:
    async def wait(pilot: Pilot[Any]) -> None:
        await opened(pilot)
        await pilot.press("f5")
        await until(pilot, lambda: "your turn" in course(pilot))
        hold_picture(pilot)

    stage = ferry(transcript, scripted("Hello, Ben. You are early."), persons=("ben",))
    assert snap_compare(app_of(stage), run_before=wait, terminal_size=NARROW)

"""Several answers to one line, side by side."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from helpers.one_screen import OneScreen, screen
from helpers.piloting import keys_offered, shown, until
from helpers.user_files import write_config, write_models
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot
from textual.widgets import SelectionList, Static

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import ModelError
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona
from rolellm_agents.transcript import Transcript
from rolellm_agents.transcript.message import USER
from rolellm_graphs import Session
from rolellm_tui.screens.compare import CompareScreen
from rolellm_tui.widgets.chat.answer_column import AnswerColumn
from rolellm_tui.widgets.chat.answer_grid import NARROWEST, AnswerGrid, columns_for
from rolellm_tui.widgets.common.status_line import ERROR_SIGN

ADA = Persona(id="ada", name="Ada", description="Ada counts everything.")
MODELS = """\
[models.parrot]
spec = "scripted:Pretty Polly."
[models.snail]
spec = "scripted:{words}"
seconds_per_word = 0.1
[models.broken]
spec = "openai:gpt-4o-mini"
frobnicate = 3
""".format(words=" ".join(f"slow{number}" for number in range(2000)))
FORM = ["system", "zero-shot", "few-shot-prompt", "few-shot-dialogue", "retrieval"]


@pytest.fixture
def transcript() -> Iterator[Transcript]:
    with Transcript(user_paths().transcript) as opened:
        yield opened


def session_with(transcript: Transcript, *replies: str | Exception, pause: float = 0.0) -> Session:
    """A session whose own model says these."""
    write_models(MODELS)
    model = ScriptedChatModel(replies=list(replies), seconds_per_word=pause)
    return Session(ADA, transcript, model=model, model_name="own", strategy="system")


def app_of(session: Session, text: str = "How many?") -> OneScreen:
    return OneScreen(lambda: CompareScreen(session, text))


def columns(pilot: Pilot[Any]) -> list[AnswerColumn]:
    """Those that are there with all their parts."""
    return [column for column in pilot.app.screen.query(AnswerColumn) if column.query(".trouble")]


def part(column: AnswerColumn, which: str) -> str:
    widget = column.query_one(f".{which}", Static)
    return " ".join(shown(widget).split()) if widget.display else ""


def words(pilot: Pilot[Any]) -> list[str]:
    return [part(column, "words") for column in columns(pilot)]


def troubles(pilot: Pilot[Any]) -> list[str]:
    return [part(column, "trouble") for column in columns(pilot)]


def outcome(pilot: Pilot[Any]) -> str:
    return shown(pilot.app.screen.query_one(".outcome", Static))


def status(pilot: Pilot[Any]) -> str:
    return shown(pilot.app.screen.query_one("#compare-status", Static)).removeprefix(f"{ERROR_SIGN} ")


def listed(pilot: Pilot[Any], which: str) -> list[str]:
    options: SelectionList[str] = pilot.app.screen.query_one(f".{which}", SelectionList)
    return [options.get_option_at_index(place).value for place in range(options.option_count)]


async def form(pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: pilot.app.screen.query(SelectionList))


async def answered(pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: "Again" in keys_offered(pilot))


async def tick(pilot: Pilot[Any], *, strategies: str = "system zero-shot", models: str = "own") -> None:
    """Tick exactly these."""
    await form(pilot)
    for which, wanted in (("strategies", strategies), ("models", models)):
        options: SelectionList[str] = pilot.app.screen.query_one(f".{which}", SelectionList)
        options.deselect_all()
        for value in wanted.split():
            options.select(value)
    await pilot.pause()


async def begin(pilot: Pilot[Any], **ticked: str) -> None:
    await tick(pilot, **ticked)
    await pilot.press("enter")
    await until(pilot, lambda: columns(pilot))


# The form


async def test_the_form_offers_every_strategy_and_every_known_model_with_the_own_ones_first(
    transcript: Transcript,
) -> None:
    session = session_with(transcript, "Two.")
    async with app_of(session).run_test(size=(80, 24)) as pilot:
        await form(pilot)
        assert sorted(listed(pilot, "strategies")) == sorted(FORM)
        assert listed(pilot, "strategies")[0] == "system"
        assert listed(pilot, "models") == ["own", "parrot", "snail", "broken", "llamacpp:rolesmol"]
        assert "How many?" in shown(pilot.app.screen.query_one("#compare-line", Static))
        assert {"Begin", "Back"} <= keys_offered(pilot)
        assert not {"Keep", "Again", "Stop"} & keys_offered(pilot)


@pytest.mark.parametrize(
    ("strategies", "models", "says"),
    [
        ("system", "own", "Select one more"),
        ("", "own parrot", "Select one more"),
        ("system zero-shot", "own", "2 voices will answer"),
        ("system", "own parrot snail", "3 voices will answer"),
        ("system zero-shot", "own parrot", "4 voices will answer"),
        ("system zero-shot", "own parrot snail", "6 voices selected"),
    ],
)
async def test_two_to_four_voices_can_begin(
    transcript: Transcript, strategies: str, models: str, says: str
) -> None:
    async with app_of(session_with(transcript, "Two.")).run_test(size=(80, 24)) as pilot:
        await tick(pilot, strategies=strategies, models=models)
        assert outcome(pilot).startswith(says)
        await pilot.press("enter")
        await pilot.pause()
        assert bool(columns(pilot)) == ("will answer" in says)
        await pilot.press("escape")


async def test_space_ticks_and_the_arrow_keys_go_through_both_lists(transcript: Transcript) -> None:
    async with app_of(session_with(transcript, "Two.")).run_test(size=(80, 24)) as pilot:
        await form(pilot)
        assert outcome(pilot).startswith("2 voices")
        await pilot.press("down", "space", "right", "down", "space", "down", "space", "left", "enter")
        await until(pilot, lambda: columns(pilot))
        assert [column.choice for column in columns(pilot)] == [
            ("system", "own"),
            ("system", "parrot"),
            ("system", "snail"),
        ]
        await pilot.press("escape")


async def test_leaving_the_form_sends_nothing(transcript: Transcript) -> None:
    app = app_of(session_with(transcript, "Two."))
    async with app.run_test() as pilot:
        await form(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: app.dismissed == [False])
    assert transcript.conversations() == []


async def test_names_of_models_that_cannot_be_read_are_told_and_the_own_model_remains(
    transcript: Transcript,
) -> None:
    session = session_with(transcript, "Two.")
    write_models("[models.x]\n")
    async with app_of(session).run_test(size=(200, 24)) as pilot:
        await form(pilot)
        assert "models.toml" in status(pilot)
        assert listed(pilot, "models") == ["own", "llamacpp:rolesmol"]


async def test_without_a_line_there_is_nothing_to_compare(transcript: Transcript) -> None:
    app = app_of(session_with(transcript, "Two."), " ")
    async with app.run_test() as pilot:
        await until(pilot, lambda: screen(pilot) == "CompareScreen")
        line = shown(pilot.app.screen.query_one("#compare-line", Static))
        assert line == "There is nothing to answer yet; write a line first."
        await pilot.press("enter", "n", "1", "escape")
        await until(pilot, lambda: app.dismissed == [False])


# Answers


@pytest.mark.core
async def test_the_line_is_said_once_and_each_voice_answers_it(transcript: Transcript) -> None:
    session = session_with(transcript, "Two. *counts* Three.")
    async with app_of(session).run_test(size=(80, 24)) as pilot:
        await begin(pilot, models="own parrot")
        await answered(pilot)
        assert words(pilot) == [
            "Two. counts Three.",
            "Two. counts Three.",
            "Pretty Polly.",
            "Pretty Polly.",
        ]
        assert [part(column, "head") for column in columns(pilot)] == [
            "1 system · own",
            "2 zero-shot · own",
            "3 system · parrot",
            "4 zero-shot · parrot",
        ]
        for column, start in zip(columns(pilot), [3, 3, 2, 2], strict=True):
            assert column.message is not None
            made = column.message.made_by
            assert (made["strategy"], made["model"]) == column.choice
            assert column.message.usage is not None
            assert part(column, "numbers") == (
                f"{start} words · {made['seconds']:.1f} s · first {made['first_token_s']:.1f} s "
                f"prompt of {column.message.usage['input_tokens']} tokens"
            )
    said = transcript.messages(session.conversation or "")
    assert [message.text for message in said if message.speaker == USER] == ["How many?"]
    assert len(said) == 5
    assert {message.parent for message in said[1:]} == {said[0].id}


async def test_answers_come_at_the_same_time(transcript: Transcript) -> None:
    session = session_with(transcript, " ".join(f"word{number}" for number in range(2000)), pause=0.1)
    async with app_of(session).run_test(size=(80, 24)) as pilot:
        await begin(pilot, strategies="system", models="own snail")
        await until(pilot, lambda: "word2" in words(pilot)[0] and "slow2" in words(pilot)[1])
        assert all("so far" in part(column, "numbers") for column in columns(pilot))
        assert {"Stop"} <= keys_offered(pilot)
        assert not {"Keep", "Again"} & keys_offered(pilot)
        await pilot.press("1", "enter", "n")
        await until(pilot, lambda: "word4" in words(pilot)[0])
        session.cancel()
        await answered(pilot)


async def test_escape_stops_all_and_then_keeps_the_first(transcript: Transcript) -> None:
    session = session_with(transcript, " ".join(f"word{number}" for number in range(2000)), pause=0.1)
    app = app_of(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await begin(pilot, strategies="system", models="own snail")
        await until(pilot, lambda: all("2" in one for one in words(pilot)))
        await pilot.press("escape")
        await answered(pilot)
        assert troubles(pilot) == ["cut off", "cut off"]
        kept = words(pilot)[0]
        await pilot.press("escape")
        await until(pilot, lambda: app.dismissed == [True])
    last = session.messages[-1]
    assert (" ".join(last.text.split()), last.status, len(session.swipes(last.id))) == (kept, "stopped", 2)


@pytest.mark.parametrize(
    ("keys", "kept"),
    [
        (["2"], "Pretty Polly."),
        (["1"], "Two."),
        (["enter"], "Two."),
        (["right", "enter"], "Pretty Polly."),
        (["right", "right", "enter"], "Two."),
        (["left", "enter"], "Pretty Polly."),
        (["space", "right", "space", "enter"], "Pretty Polly."),
        (["escape"], "Two."),
    ],
)
async def test_one_answer_is_kept_by_its_key(transcript: Transcript, keys: list[str], kept: str) -> None:
    session = session_with(transcript, "Two.")
    app = app_of(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await begin(pilot, strategies="system", models="own parrot")
        await answered(pilot)
        await pilot.press("4")
        assert app.dismissed == []
        await pilot.press(*keys)
        await until(pilot, lambda: app.dismissed == [True])
    assert [message.text for message in session.messages] == ["How many?", kept]
    assert len(session.swipes(session.messages[-1].id)) == 2


async def test_all_answer_again_and_the_line_is_not_said_again(transcript: Transcript) -> None:
    session = session_with(transcript, "One.", "Two.")
    app = app_of(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await begin(pilot, strategies="system", models="own parrot")
        await answered(pilot)
        assert words(pilot)[0] == "One."
        await pilot.press("n")
        await until(pilot, lambda: words(pilot)[0] == "Two.")
        await answered(pilot)
        await pilot.press("1")
        await until(pilot, lambda: app.dismissed == [True])
    assert [message.text for message in session.messages] == ["How many?", "Two."]
    assert [one.text for one in session.swipes(session.messages[-1].id)].count("Pretty Polly.") == 2
    assert len(session.tree()) == 5


async def test_an_empty_line_has_the_last_one_answered_again(transcript: Transcript) -> None:
    session = session_with(transcript, "One.", "Two.")
    async for _ in session.send("How many?"):
        pass
    app = app_of(session, "")
    async with app.run_test(size=(80, 24)) as pilot:
        await form(pilot)
        line = shown(pilot.app.screen.query_one("#compare-line", Static))
        assert line.split() == ["Compare", "again", "How", "many?"]
        await begin(pilot, strategies="system", models="own parrot")
        await answered(pilot)
        await pilot.press("2")
        await until(pilot, lambda: app.dismissed == [True])
    assert [message.text for message in session.messages] == ["How many?", "Pretty Polly."]
    assert {one.text for one in session.swipes(session.messages[-1].id)} == {
        "One.",
        "Two.",
        "Pretty Polly.",
    }


# What goes wrong


async def test_a_voice_that_fails_tells_it_and_the_others_go_on(transcript: Transcript) -> None:
    session = session_with(transcript, ModelError("The cable is [red]out[/red]."))
    app = app_of(session)
    async with app.run_test(size=(120, 24)) as pilot:
        await begin(pilot, strategies="system", models="own broken parrot")
        await answered(pilot)
        assert words(pilot) == ["", "Pretty Polly.", ""]
        assert troubles(pilot)[0] == "The cable is [red]out[/red]."
        assert "frobnicate" in troubles(pilot)[2]
        await pilot.press("1")
        await until(pilot, lambda: status(pilot).startswith("This answer is empty"))
        assert app.dismissed == []
        await pilot.press("escape")
        await until(pilot, lambda: app.dismissed == [True])
    assert [message.text for message in session.messages] == ["How many?", "Pretty Polly."]


async def test_when_no_voice_can_be_had_the_line_is_not_sent(transcript: Transcript) -> None:
    session = session_with(transcript, "One.")
    app = app_of(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await begin(pilot, strategies="system zero-shot", models="broken")
        await answered(pilot)
        assert all("frobnicate" in trouble for trouble in troubles(pilot))
        write_models(
            MODELS.replace("frobnicate = 3\n", "").replace("openai:gpt-4o-mini", "scripted:Mended.")
        )
        await pilot.press("n")
        await until(pilot, lambda: words(pilot) == ["Mended.", "Mended."])
        await answered(pilot)
        await pilot.press("2")
        await until(pilot, lambda: app.dismissed == [True])
    assert [message.text for message in session.messages] == ["How many?", "Mended."]


async def test_leaving_when_nothing_came_says_that_nothing_was_sent(transcript: Transcript) -> None:
    app = app_of(session_with(transcript, "One."))
    async with app.run_test(size=(80, 24)) as pilot:
        await begin(pilot, strategies="system zero-shot", models="broken")
        await answered(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: app.dismissed == [False])
    assert transcript.conversations() == []


async def test_a_line_that_cannot_be_recorded_is_told(transcript: Transcript) -> None:
    app = app_of(session_with(transcript, "One."))
    async with app.run_test(size=(200, 24)) as pilot:
        await form(pilot)
        transcript.close()
        await begin(pilot)
        await answered(pilot)
        assert str(user_paths().transcript) in status(pilot)
        assert troubles(pilot) == ["Stopped before it started."] * 2
        await pilot.press("escape")
        await until(pilot, lambda: app.dismissed == [False])


async def test_escape_while_a_model_is_looked_for_sends_nothing(
    transcript: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow_get_model(name: str, **_: object) -> ScriptedChatModel:
        asyncio.run_coroutine_threadsafe(found.wait(), loop).result()
        return ScriptedChatModel(replies=[name])

    monkeypatch.setattr("rolellm_agents.models.presets.using.get_model", slow_get_model)
    app = app_of(session_with(transcript, "One."))
    async with app.run_test(size=(80, 24)) as pilot:
        await begin(pilot, strategies="system", models="own parrot")
        await until(pilot, lambda: "Stop" in keys_offered(pilot))
        await pilot.press("escape")
        await answered(pilot)
        found.set()
        await pilot.press("escape")
        await until(pilot, lambda: app.dismissed == [False])
    assert transcript.conversations() == []


async def test_words_from_outside_are_shown_as_they_are(transcript: Transcript) -> None:
    session = session_with(transcript, "[red]x[/red] \x1b[31my\x1b[0m [@click=app.quit]z[/]")
    async with app_of(session, "[b]How[/b]?").run_test(size=(100, 24)) as pilot:
        await begin(pilot)
        await answered(pilot)
        assert words(pilot) == ["[red]x[/red] y [@click=app.quit]z[/]"] * 2
        assert "[b]How[/b]?" in shown(pilot.app.screen.query_one("#compare-line", Static))


async def test_other_models_have_the_settings_of_the_person(
    transcript: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[dict[str, object]] = []

    def noted(name: str, **options: object) -> ScriptedChatModel:
        given.append({"name": name, **options})
        return ScriptedChatModel(replies=["Yes."])

    write_config("temperature = 0.3\nmax_tokens = 77\n")
    monkeypatch.setattr("rolellm_agents.models.presets.using.get_model", noted)
    async with app_of(session_with(transcript, "One.")).run_test(size=(80, 24)) as pilot:
        await begin(pilot, models="own parrot")
        await answered(pilot)
        assert words(pilot) == ["One.", "One.", "Yes.", "Yes."]
        await pilot.press("n")
        await answered(pilot)
    assert given == [{"name": "parrot", "temperature": 0.3, "max_tokens": 77}]


# Where they stand


@given(st.integers(1, 4), st.integers(1, 400))
def test_columns_are_wide_enough_and_rows_are_even(count: int, width: int) -> None:
    columns = columns_for(count, width)
    assert 1 <= columns <= count
    assert columns == 1 or width // columns >= NARROWEST
    rows = -(-count // columns)
    assert rows * columns - count < columns
    assert all(-(-count // fewer) > rows for fewer in range(1, columns))


@pytest.mark.parametrize(
    ("width", "places"),
    [(80, [(0, 0), (1, 0), (0, 1), (1, 1)]), (200, [(0, 0), (1, 0), (2, 0), (3, 0)])],
)
async def test_columns_stand_side_by_side_while_they_fit(
    transcript: Transcript, width: int, places: list[tuple[int, int]]
) -> None:
    session = session_with(transcript, "Two.")
    async with app_of(session).run_test(size=(width, 24)) as pilot:
        await begin(pilot, models="own parrot")
        await answered(pilot)
        await until(pilot, lambda: len({column.region.width for column in columns(pilot)}) <= 2)
        lefts = sorted({column.virtual_region.x for column in columns(pilot)})
        tops = sorted({column.virtual_region.y for column in columns(pilot)})
        found = [
            (lefts.index(one.virtual_region.x), tops.index(one.virtual_region.y)) for one in columns(pilot)
        ]
        assert found == places
        grid = pilot.app.screen.query_one(AnswerGrid)
        await pilot.press("right", "right")
        await until(pilot, lambda: grid.region.contains_region(columns(pilot)[2].region))


async def test_space_shows_one_answer_alone_and_then_all_again(transcript: Transcript) -> None:
    session = session_with(transcript, "Two.")
    async with app_of(session).run_test(size=(80, 24)) as pilot:
        await begin(pilot, models="own parrot")
        await answered(pilot)
        narrow = columns(pilot)[1].region.width
        await pilot.press("space")
        assert [column.display for column in columns(pilot)] == [True, False, False, False]
        await pilot.press("right")
        assert [column.display for column in columns(pilot)] == [False, True, False, False]
        await until(pilot, lambda: columns(pilot)[1].region.width > 1.8 * narrow)
        await pilot.press("space")
        assert all(column.display for column in columns(pilot))
        await until(pilot, lambda: columns(pilot)[1].region.width == narrow)


async def test_a_long_answer_is_read_from_its_beginning_with_the_arrow_keys(transcript: Transcript) -> None:
    session = session_with(transcript, "\n\n".join(f"Line {number}." for number in range(40)))
    async with app_of(session).run_test(size=(80, 24)) as pilot:
        await begin(pilot)
        await answered(pilot)
        column = columns(pilot)[0]
        scroll = column.query_one("VerticalScroll")
        assert scroll.scroll_offset.y == 0
        await pilot.press("down", "down", "up", "down")
        await until(pilot, lambda: scroll.scroll_offset.y == 2)


# Pictures


SnapCompare = Callable[..., bool]


def test_the_form_looks_as_it_did(transcript: Transcript, snap_compare: SnapCompare) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await form(pilot)

    app = app_of(session_with(transcript, "Two."))
    assert snap_compare(app, run_before=look, terminal_size=(80, 24))


@pytest.mark.core
@pytest.mark.parametrize("size", [(80, 24), (160, 40)])
def test_answers_look_as_they_did(
    transcript: Transcript,
    snap_compare: SnapCompare,
    monkeypatch: pytest.MonkeyPatch,
    size: tuple[int, int],
) -> None:
    """Their times are other ones each time."""
    monkeypatch.setattr(
        "rolellm_tui.widgets.chat.answer_column.numbers_of",
        lambda _: "12 words · 1.2 s · first 0.3 s\nprompt of 513 tokens",
    )

    session = session_with(transcript, ModelError("The cable is out; plug it in, then press n."))
    write_models(
        "[models.choir]\nspec = 'scripted:*counts the stairs* “Seventeen,” she says; and then: 十七.'\n"
        "[models.echo]\nspec = 'scripted:Seventeen. Or was it eighteen?'\n"
    )

    async def ask(pilot: Pilot[Any]) -> None:
        await begin(pilot, strategies="system", models="choir own echo")
        await answered(pilot)
        await pilot.press("right")

    app = app_of(session, "How many stairs?")
    assert snap_compare(app, run_before=ask, terminal_size=size)

"""Beginning otherwise than usual: strategy, model, greeting, conversation."""

from collections.abc import Callable
from typing import Any

import pytest
from helpers.cards import v2
from helpers.library_app import LibraryApp, carded, cast, notes, read
from helpers.piloting import keys_offered, shown, until
from helpers.user_files import write_models, write_persona
from textual.pilot import Pilot
from textual.widgets import Input, Select, Static

from rolellm_agents.cards import Card
from rolellm_agents.persona.from_card.conversion import persona_of
from rolellm_agents.persona.yaml import to_yaml
from rolellm_agents.prompting.strategies import STRATEGIES
from rolellm_tui.screens.library import LibraryScreen
from rolellm_tui.screens.start_with import EXPLAINED, StartScreen

NARROW = (80, 24)


def with_three_greetings() -> None:
    write_persona(to_yaml(persona_of(Card(v2(name="[b]Zyxx[/b]")), "zyxx")), "zyxx.yaml")


async def set_up(pilot: Pilot[Any], whom: str = "cartographer") -> None:
    """Find somebody and ask to begin otherwise."""
    await read(pilot)
    await pilot.press(*whom)
    await until(pilot, lambda: len(cast(pilot)) == 1)
    await carded(pilot)
    await pilot.press("f6")
    await until(pilot, lambda: isinstance(pilot.app.screen, StartScreen))
    pilot.app.screen.query_one("#spec", Input).cursor_blink = False


def picked(pilot: Pilot[Any], menu: str) -> str:
    return str(pilot.app.screen.query_one(f"#{menu}", Select).value)


def offered(pilot: Pilot[Any], menu: str) -> list[str]:
    """What a menu offers, as it draws it once it is open."""
    select = pilot.app.screen.query_one(f"#{menu}", Select)
    return [" ".join(str(prompt).split()) for prompt, _ in select._options]


async def outcome(app: LibraryApp, pilot: Pilot[Any]) -> LibraryScreen.Chosen:
    await until(pilot, lambda: app.chosen)
    (chosen,) = app.chosen
    return chosen


def settings_of(chosen: LibraryScreen.Chosen) -> tuple[str | None, str | None, int, bool]:
    return chosen.strategy, chosen.model, chosen.greeting, chosen.new


@pytest.mark.core
async def test_enter_alone_begins_as_usual_with_whom_one_has_not_met() -> None:
    write_persona()
    app = LibraryApp()
    async with app.run_test(size=NARROW) as pilot:
        await set_up(pilot)
        await pilot.press("enter")
        chosen = await outcome(app, pilot)
        assert chosen.persona.id == "ada"
        assert settings_of(chosen) == (None, None, 0, True)


async def test_with_whom_one_has_talked_one_goes_on() -> None:
    write_persona()
    app = LibraryApp(["ada"])
    async with app.run_test(size=NARROW) as pilot:
        await set_up(pilot)
        assert offered(pilot, "new") == ["resume the last conversation", "start a new conversation"]
        await pilot.press("f6")
        assert settings_of(await outcome(app, pilot)) == (None, None, 0, False)


@pytest.mark.core
async def test_every_choice_can_be_made_by_keys() -> None:
    write_models('[models.workstation]\nspec = "openai:qwen3-8b"\n')
    with_three_greetings()
    app = LibraryApp(["zyxx"])
    async with app.run_test(size=NARROW) as pilot:
        await set_up(pilot, "zyxx")
        await pilot.press("tab", "enter", *"retr", "enter")
        await until(pilot, lambda: picked(pilot, "strategy") == "retrieval")
        await pilot.press("tab", "enter", *"work", "enter")
        await until(pilot, lambda: picked(pilot, "model") == "workstation")
        await pilot.press("tab", "tab", "enter", "down", "down", "enter")
        await until(pilot, lambda: picked(pilot, "greeting") == "2")
        await pilot.press("f6")
        assert settings_of(await outcome(app, pilot)) == ("retrieval", "workstation", 2, True)


async def test_every_strategy_is_offered_with_a_sentence_that_explains_it() -> None:
    write_persona()
    app = LibraryApp()
    async with app.run_test(size=NARROW) as pilot:
        await set_up(pilot)
        assert offered(pilot, "strategy") == [
            "default",
            *(f"{name} {EXPLAINED[name]}" for name in STRATEGIES),
        ]
        await pilot.press("tab", "enter")
        overlay = pilot.app.screen.query_one("#strategy SelectOverlay")
        await until(pilot, lambda: overlay.size.height)
        # Each has one line, even here.
        assert overlay.size.height == len(STRATEGIES) + 1
        assert all(sentence.endswith(".") for sentence in EXPLAINED.values())


async def test_another_model_can_be_typed_and_enter_begins() -> None:
    write_persona()
    app = LibraryApp(["ada"])
    async with app.run_test(size=NARROW) as pilot:
        await set_up(pilot)
        assert offered(pilot, "model") == ["default", "llamacpp:rolesmol"]
        await pilot.press("tab", "tab", "tab", *"openai:gpt-4o-mini", "enter")
        assert settings_of(await outcome(app, pilot)) == (None, "openai:gpt-4o-mini", 0, False)


async def test_a_model_that_cannot_be_one_is_told_and_nothing_is_lost() -> None:
    write_models('[models.workstation]\nspec = "openai:qwen3-8b"\n')
    write_persona()
    app = LibraryApp(["ada"])
    async with app.run_test(size=NARROW) as pilot:
        await set_up(pilot)
        await pilot.press("tab", "tab", "tab", *"workstatoin", "enter")
        complaint = pilot.app.screen.query_one("#complaint", Static)
        await until(pilot, lambda: complaint.size.height)
        assert "no model 'workstatoin' (did you mean workstation?)" in " ".join(shown(complaint).split())
        assert app.chosen == []
        await pilot.press("backspace", "backspace", "backspace", *"ion", "enter")
        assert settings_of(await outcome(app, pilot)) == (None, "workstation", 0, False)


async def test_the_greetings_of_a_card_are_shown_and_another_one_begins_anew() -> None:
    with_three_greetings()
    app = LibraryApp(["zyxx"], user="Kim")
    async with app.run_test(size=NARROW) as pilot:
        await set_up(pilot, "zyxx")
        title = pilot.app.screen.query_one("#start .title", Static)
        assert shown(title) == "Start with [b]Zyxx[/b]"
        assert offered(pilot, "greeting") == ["0 Wipe your feet, Kim.", "1 Again, Kim?", "2 Come in, then."]
        assert shown(pilot.app.screen.query_one("#words")) == "Wipe your feet, Kim."
        assert picked(pilot, "new") == ""
        await pilot.press(*["tab"] * 4, "enter", "down", "enter")
        await until(pilot, lambda: picked(pilot, "new") == "new")
        await until(pilot, lambda: shown(pilot.app.screen.query_one("#words")) == "Again, Kim?")
        await pilot.press("f6")
        assert settings_of(await outcome(app, pilot)) == (None, None, 1, True)


async def test_who_has_one_greeting_is_not_asked_which() -> None:
    write_persona()
    async with LibraryApp().run_test(size=NARROW) as pilot:
        await set_up(pilot)
        assert not pilot.app.screen.query("#greeting")


@pytest.mark.parametrize("before", [(), ("tab",), ("tab", "tab", "tab", "x")])
async def test_escape_leaves_and_begins_nothing(before: tuple[str, ...]) -> None:
    write_persona()
    app = LibraryApp()
    async with app.run_test(size=NARROW) as pilot:
        await set_up(pilot)
        await pilot.press(*before, "escape")
        await until(pilot, lambda: app.screen is app.library)
        assert app.chosen == []
        assert cast(pilot) == ["ada"]


async def test_a_broken_models_file_is_told_in_the_library() -> None:
    write_persona()
    write_models("[models.x")
    app = LibraryApp()
    async with app.run_test(size=(200, 40)) as pilot:
        await read(pilot)
        await pilot.press("f6")
        await until(pilot, lambda: "is not valid TOML" in notes(pilot))
        assert app.screen is app.library


async def test_without_anybody_there_is_nothing_to_set_up() -> None:
    app = LibraryApp()
    async with app.run_test(size=NARROW) as pilot:
        await read(pilot)
        await pilot.press(*"qqq", "f6")
        await pilot.pause()
        assert app.screen is app.library


async def test_the_keys_of_the_library_do_nothing_below_the_window() -> None:
    write_persona()
    app = LibraryApp()
    async with app.run_test(size=NARROW) as pilot:
        await set_up(pilot)
        assert not {"Talk", "Card", "Import", "Filter"} & keys_offered(pilot)


# Pictures

SnapCompare = Callable[..., bool]


@pytest.mark.parametrize("size", [NARROW, (120, 40)])
def test_the_setup_looks_as_it_did(size: tuple[int, int], snap_compare: SnapCompare) -> None:
    with_three_greetings()

    async def look(pilot: Pilot[Any]) -> None:
        await set_up(pilot, "zyxx")

    assert snap_compare(LibraryApp(), run_before=look, terminal_size=size)

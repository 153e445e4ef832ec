"""The first screen: a character says hello."""

from collections.abc import Callable
from typing import Any

import pytest
from helpers.piloting import keys_offered, shown, until
from helpers.user_files import ADA, write_persona
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Static

from rolellm_agents.persona import Persona, list_personas, load_persona
from rolellm_tui.screens.welcome import GREETERS, SECONDS, Answer, WelcomeScreen, pick_greeter

SIZE = (80, 24)


class Door(App[None]):
    TITLE = "RoleLLM"

    def __init__(self, greeter: Persona, user: str = "User") -> None:
        super().__init__()
        self.welcome = WelcomeScreen(greeter, user=user)
        self.answers: list[Answer | None] = []

    def on_mount(self) -> None:
        self.push_screen(self.welcome, self.answers.append)


def greeting(pilot: Pilot[Any]) -> str:
    return " ".join(shown(pilot.app.screen.query_one("#greeting", Static)).split())


def everything(pilot: Pilot[Any]) -> str:
    return " ".join(" ".join(shown(part) for part in pilot.app.screen.query(Static)).split())


async def there(pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: pilot.app.screen.query("#greeting"))


@pytest.mark.core
async def test_the_greeting_comes_word_by_word_within_a_second_and_nothing_moves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    holmes = load_persona("sherlock-holmes")
    whole = " ".join(holmes.greeting.split())
    app = Door(holmes)
    seen: list[str] = []
    heights: set[int] = set()
    update = Static.update

    def note(widget: Static, content: str = "", *, layout: bool = True) -> None:
        """Note each step: a test that looks now and then misses most of them on a busy machine."""
        update(widget, content, layout=layout)
        if widget.id == "greeting":
            seen.append(" ".join(content.split()))
            heights.add(widget.size.height)

    monkeypatch.setattr(Static, "update", note)
    async with app.run_test(size=SIZE) as pilot:
        await there(pilot)
        await until(pilot, lambda: greeting(pilot) == whole)
    partly = {one for one in seen if one not in ("", whole)}
    assert len(partly) > 3
    assert all(whole.startswith(one) for one in partly)
    assert all(whole[len(one)] == " " for one in partly)
    assert len(heights) == 1
    assert SECONDS <= 1


@pytest.mark.parametrize("persona", [one for ids in GREETERS.values() for one in ids])
async def test_every_greeter_is_there_and_fits_a_small_terminal(persona: str) -> None:
    one = load_persona(persona)
    assert one.greeting
    app = Door(one)
    async with app.run_test(size=SIZE) as pilot:
        await there(pilot)
        await pilot.pause()
        column = app.welcome.query_one("#welcome")
        assert app.welcome.region.contains_region(column.region)
        assert column.region.height < 24 - 1


@pytest.mark.parametrize(("key", "answer"), [("enter", "talk"), ("l", "library")])
async def test_a_key_answers_even_while_one_is_greeted(key: str, answer: Answer) -> None:
    app = Door(load_persona("shrek"))
    async with app.run_test(size=SIZE) as pilot:
        await there(pilot)
        await pilot.press(key)
        await until(pilot, lambda: app.answers)
        assert app.answers == [answer]
        # The words that were still to come trouble nobody.
        await pilot.pause(1)


@pytest.mark.core
async def test_it_tells_what_this_is_what_runs_and_what_the_keys_do() -> None:
    app = Door(load_persona("shrek"))
    async with app.run_test(size=SIZE) as pilot:
        await there(pilot)
        words = everything(pilot)
        assert "Characters with a voice of their own" in words
        assert "Enter talk with Shrek L open the library" in words
        assert "The small bundled model answers, offline." in words
        assert "F12 choose or download another one" in words
        assert {"Talk", "Library"} <= keys_offered(pilot)


async def test_it_names_the_model_that_really_answers() -> None:
    app = Door(load_persona("shrek"))
    async with app.run_test(size=SIZE) as pilot:
        await there(pilot)
        welcome = pilot.app.screen
        assert isinstance(welcome, WelcomeScreen)
        welcome.use_model("workstation")
        await until(pilot, lambda: "The model workstation answers." in everything(pilot))


async def test_without_animations_the_greeting_is_there_at_once() -> None:
    app = Door(load_persona("shrek"))
    app.animation_level = "none"
    async with app.run_test(size=SIZE) as pilot:
        await there(pilot)
        await pilot.pause()
        assert greeting(pilot) == " ".join(load_persona("shrek").greeting.split())


async def test_a_greeting_from_outside_is_plain_text_with_its_macros_filled() -> None:
    write_persona(ADA.replace("Good day.", "'[b]Good[/b] day, {{user}}.'"))
    async with Door(load_persona("ada"), user="Kim").run_test(size=SIZE) as pilot:
        await there(pilot)
        await until(pilot, lambda: greeting(pilot) == "[b]Good[/b] day, Kim.")


async def test_who_says_nothing_is_no_reason_to_fail() -> None:
    write_persona("id: ada\nname: Ada\ndescription: Silent.\n")
    app = Door(load_persona("ada"))
    async with app.run_test(size=SIZE) as pilot:
        await there(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: app.answers == ["talk"])


def test_a_greeter_is_one_of_the_language_that_was_asked_for() -> None:
    for language, known in GREETERS.items():
        assert {pick_greeter(language).language for _ in range(5)} == {language}
        bundled = {one.persona.id for one in list_personas().found if one.persona.language == language}
        assert set(known) <= bundled


# Pictures

SnapCompare = Callable[..., bool]


@pytest.mark.core
@pytest.mark.parametrize(("size", "persona"), [(SIZE, "hal-9000"), ((120, 40), "sun-wukong")])
def test_the_welcome_looks_as_it_did(
    size: tuple[int, int], persona: str, snap_compare: SnapCompare
) -> None:
    one = load_persona(persona)

    async def wait(pilot: Pilot[Any]) -> None:
        await there(pilot)
        whole = "".join(one.greeting.split())
        await until(pilot, lambda: greeting(pilot).replace(" ", "") == whole)

    assert snap_compare(Door(one), run_before=wait, terminal_size=size)

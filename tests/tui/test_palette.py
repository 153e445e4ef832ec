"""The command palette: whatever one can do, and everybody and everything one can go to."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from helpers.piloting import until
from helpers.screen_app import ScreenApp, name_of_screen
from helpers.user_files import write_persona
from textual.binding import Binding
from textual.command import CommandList, CommandPalette
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input

from rolellm_agents.config.paths import user_paths
from rolellm_agents.persona import list_personas
from rolellm_agents.prompting.strategies import STRATEGIES
from rolellm_agents.transcript import Transcript
from rolellm_agents.transcript.message import USER


class Below(Screen[None]):
    """A screen with something to do."""

    BINDINGS = [  # noqa: RUF012
        Binding("z", "count(2)", "Count[b]", tooltip="Count [link=x]on[/link] \\[."),
        Binding("ctrl+z", "count(3)", "Count", show=False),
        Binding("g", "gone", "Gone", tooltip="Not now."),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.counted: list[int] = []

    async def action_count(self, by: int) -> None:
        self.counted.append(by)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "gone"


@pytest.fixture
def transcript() -> Iterator[Transcript]:
    with Transcript(user_paths().transcript) as opened:
        yield opened


def talk(transcript: Transcript, persona: str, line: str, title: str = "") -> str:
    conversation = transcript.create_conversation(persona)
    transcript.append(conversation, None, speaker=USER, audience=[USER, persona], text=line)
    if title:
        transcript.rename(conversation, title)
    return conversation


def offered(pilot: Pilot[Any]) -> list[str]:
    """What the palette lists, a command and what stands below it."""
    if not isinstance(pilot.app.screen, CommandPalette):
        return []
    return [str(option.prompt) for option in pilot.app.screen.query_one(CommandList).options]


async def open_palette(pilot: Pilot[Any], text: str = "") -> None:
    await until(pilot, lambda: name_of_screen(pilot) == "Below")
    await pilot.press("ctrl+p")
    await until(pilot, lambda: isinstance(pilot.app.screen, CommandPalette) and offered(pilot))
    if text:
        pilot.app.screen.query_one(Input).value = text


async def run(pilot: Pilot[Any], text: str, first: str) -> None:
    """Look for a command and take the first."""
    await open_palette(pilot, text)
    await until(pilot, lambda: [one.split("\n")[0] for one in offered(pilot)[:1]] == [first])
    await pilot.press("enter")
    await until(pilot, lambda: name_of_screen(pilot) == "Below")


@pytest.mark.core
async def test_at_first_it_offers_what_the_screen_below_can_do(transcript: Transcript) -> None:
    async with ScreenApp(Below(), transcript).run_test() as pilot:
        await open_palette(pilot)
        ours = [one.split("\n") for one in offered(pilot)]
        assert ["Count[b]", "Count [link=x]on[/link] \\[.  z"] in ours
        assert ["Help", "Key bindings of this screen.  f1"] in ours
        assert not [name for name, _ in ours if name in ("Count", "Gone", "palette")]


async def test_an_action_is_done_on_the_screen_it_belongs_to(transcript: Transcript) -> None:
    below = Below()
    async with ScreenApp(below, transcript).run_test() as pilot:
        await run(pilot, "count", "Count[b]")
        await until(pilot, lambda: below.counted == [2])
        await open_palette(pilot, "help")
        await until(pilot, lambda: offered(pilot)[:1] == ["Help\nKey bindings of this screen.  f1"])
        await pilot.press("enter")
        await until(pilot, lambda: name_of_screen(pilot) == "KeysScreen")


@pytest.mark.core
async def test_everybody_can_be_talked_with(transcript: Transcript) -> None:
    app = ScreenApp(Below(), transcript)
    async with app.run_test() as pilot:
        await open_palette(pilot, "talk with")
        everybody = {f"Talk with {found.persona.name}" for found in list_personas().found}
        await until(pilot, lambda: everybody <= {one.split("\n")[0] for one in offered(pilot)})
        await pilot.press("escape")
        await run(pilot, "talk with sherlock", "Talk with Sherlock Holmes")
        await until(pilot, lambda: app.asked == [("talk", "sherlock-holmes")])


async def test_every_conversation_can_be_gone_on_with(transcript: Transcript) -> None:
    pipe = talk(transcript, "sherlock-holmes", "I lost it.", "The missing [b]pipe[/b]")
    onion = talk(transcript, "shrek", "Why onions?")
    talk(transcript, "nobody-known", "Hello there.")
    app = ScreenApp(Below(), transcript)
    async with app.run_test() as pilot:
        await open_palette(pilot, "resume")
        wanted = {
            "Resume Sherlock Holmes – The missing [b]pipe[/b]",
            "Resume Shrek – Why onions?",
            "Resume nobody-known – Hello there.",
        }
        await until(pilot, lambda: wanted <= {one.split("\n")[0] for one in offered(pilot)})
        below = next(one for one in offered(pilot) if "pipe" in one).split("\n")[1]
        assert below.startswith("today ")
        assert below.endswith(" · 1 message")
        await pilot.press("escape")
        await run(pilot, "missing [b]pi", "Resume Sherlock Holmes – The missing [b]pipe[/b]")
        await run(pilot, "why onions", "Resume Shrek – Why onions?")
        await until(pilot, lambda: app.asked == [("go on", pipe, None), ("go on", onion, None)])


async def test_every_strategy_can_be_used(transcript: Transcript) -> None:
    app = ScreenApp(Below(), transcript)
    async with app.run_test() as pilot:
        await open_palette(pilot, "use strategy")
        wanted = {f"Use strategy {name}" for name in STRATEGIES}
        await until(pilot, lambda: wanted <= {one.split("\n")[0] for one in offered(pilot)})
        await pilot.press("escape")
        await run(pilot, "use strategy few-shot-dialogue", "Use strategy few-shot-dialogue")
        await until(pilot, lambda: app.asked == [("strategy", "few-shot-dialogue")])


async def test_names_from_outside_are_plain_text(transcript: Transcript) -> None:
    write_persona("id: eve\nname: '[red]Eve[/red] \\['\ndescription: '[@click=app.quit]x[/]'\n", "eve.yaml")
    app = ScreenApp(Below(), transcript)
    async with app.run_test() as pilot:
        await open_palette(pilot, "talk with [red]eve")
        await until(
            pilot,
            lambda: offered(pilot)[:1] == ["Talk with [red]Eve[/red] \\[\n[@click=app.quit]x[/]"],
        )
        await pilot.press("enter")
        await until(pilot, lambda: app.asked == [("talk", "eve")])


async def test_without_conversations_to_read_the_rest_is_offered(transcript: Transcript) -> None:
    transcript.close()
    app = ScreenApp(Below(), transcript)
    async with app.run_test() as pilot:
        await run(pilot, "talk with shrek", "Talk with Shrek")
        await until(pilot, lambda: app.asked == [("talk", "shrek")])


async def test_it_can_be_closed_before_everything_is_read(transcript: Transcript) -> None:
    async with ScreenApp(Below(), transcript).run_test() as pilot:
        await until(pilot, lambda: name_of_screen(pilot) == "Below")
        await pilot.press("ctrl+p", "escape", "escape")
        await until(pilot, lambda: name_of_screen(pilot) == "Below")


SnapCompare = Callable[..., bool]


def test_the_palette_looks_as_it_did(transcript: Transcript, snap_compare: SnapCompare) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await open_palette(pilot)
        line = pilot.app.screen.query_one(Input)
        line.cursor_blink = False
        line.value = "holmes"
        await until(pilot, lambda: offered(pilot)[:1] and "Sherlock Holmes" in offered(pilot)[0])

    assert snap_compare(ScreenApp(Below(), transcript), run_before=look, terminal_size=(80, 24))

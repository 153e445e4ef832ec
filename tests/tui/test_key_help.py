"""The key help: what the keys do on the screen below, as it is."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from helpers.piloting import until
from helpers.screen_app import ScreenApp, name_of_screen
from textual.app import ComposeResult
from textual.binding import Binding
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input

from rolellm_agents.config.paths import user_paths
from rolellm_agents.transcript import Transcript
from rolellm_tui.screens.conversations import ConversationsScreen
from rolellm_tui.screens.keys import KeysScreen, keys_of


class Below(Screen[None]):
    """A screen with keys of all kinds."""

    BINDINGS = [  # noqa: RUF012
        Binding("a,b", "both", "Both", tooltip="By [b]two[/b] keys."),
        Binding("c", "hidden", "Hidden", tooltip="Not in the footer.", show=False),
        Binding("d", "silent", "Silent", show=False),
        Binding("e", "labelled", "Labelled"),
        Binding("g", "gone", "Gone", tooltip="Not now."),
        Binding("o", "off", "Off", tooltip="Cannot be done now."),
    ]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return {"gone": False, "off": None}.get(action, True)


class WithLine(Screen[None]):
    """A screen on which one types."""

    BINDINGS = [Binding("ctrl+x", "cross", "Cross", tooltip="Cross it out.", priority=True)]  # noqa: RUF012

    def compose(self) -> ComposeResult:
        yield Input()


@pytest.fixture
def transcript() -> Iterator[Transcript]:
    with Transcript(user_paths().transcript) as opened:
        yield opened


async def ask(pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: len(pilot.app.screen_stack) > 1)
    await pilot.press("f1")
    await until(pilot, lambda: name_of_screen(pilot) == "KeysScreen")


@pytest.mark.core
async def test_each_key_stands_with_what_it_does_where_it_works() -> None:
    async with ScreenApp(Below()).run_test(size=(120, 40)) as pilot:
        await ask(pilot)
        columns = pilot.app.screen.query(".column")
        rows = [[text_of_row(row) for row in column.query(".row")] for column in columns]
        assert rows[0] == [
            ("a b", "By [b]two[/b] keys."),
            ("c", "Not in the footer."),
            ("e", "Labelled"),
            ("o", "Cannot be done now."),
        ]
        assert {("f1", "Key bindings of this screen."), ("^q", "Quit. All messages are saved.")} <= set(
            rows[1]
        )
        assert [row.has_class("off") for row in columns.first().query(".row")] == [False] * 3 + [True]


def text_of_row(row: Any) -> tuple[str, str]:
    return str(row.query_one(".key").content), str(row.query_one(".does").content)


@pytest.mark.parametrize("key", ["escape", "f1"])
async def test_a_key_leaves(key: str) -> None:
    async with ScreenApp(Below()).run_test() as pilot:
        await ask(pilot)
        await pilot.press(key)
        await until(pilot, lambda: name_of_screen(pilot) == "Below")


async def test_keys_of_the_line_one_types_in_are_left_out_but_those_before_them_are_told() -> None:
    async with ScreenApp(WithLine()).run_test() as pilot:
        await until(pilot, lambda: isinstance(pilot.app.focused, Input))
        here = [key for key in keys_of(pilot.app.screen) if key.of is pilot.app.screen]
        assert [(key.keys, key.does) for key in here] == [("^x", "Cross it out.")]
        assert not [key for key in keys_of(pilot.app.screen) if key.of is pilot.app.focused]


async def test_the_keys_are_those_of_what_has_the_focus(transcript: Transcript) -> None:
    async with ScreenApp(ConversationsScreen(transcript)).run_test() as pilot:
        await until(pilot, lambda: pilot.app.screen.query("#conversations"))
        pilot.app.screen.query_one("#find").focus()
        await pilot.pause()
        before = {key.does for key in keys_of(pilot.app.screen)}
        pilot.app.screen.query_one("#conversations").focus()
        await pilot.pause()
        after = {key.does for key in keys_of(pilot.app.screen)}
        assert "Edit the title." in after - before
        assert "To the list of conversations." in before - after


# Pictures

SnapCompare = Callable[..., bool]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_the_keys_look_as_they_did(
    transcript: Transcript, snap_compare: SnapCompare, size: tuple[int, int]
) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: pilot.app.screen.query_one("#conversations").has_focus)
        await ask(pilot)
        assert isinstance(pilot.app.screen, KeysScreen)

    app = ScreenApp(ConversationsScreen(transcript))
    assert snap_compare(app, run_before=look, terminal_size=size)

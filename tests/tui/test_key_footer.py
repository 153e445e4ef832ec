"""The footer shows whole keys only, and those that lead to all others at any width."""

from typing import Any, ClassVar

import pytest
from helpers.piloting import until
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.pilot import Pilot
from textual.widgets import TextArea
from textual.widgets._footer import FooterKey

from rolellm_tui.widgets.common.key_footer import KeyFooter

NAMES = ("Talk", "Compare", "Schließen", "重来", "Library", "Why", "Settings")
ALWAYS = ["Keys", "palette"]
WIDTH = sum(cell_len(f" ^a {name} ") for name in (*NAMES, *ALWAYS)) + len(" ")
"""The columns of all keys and of a line between them."""


class Host(App[None]):
    """A screen with many keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(f"ctrl+{key}", f"act({key!r})", name)
            for key, name in zip("abdefgh", NAMES, strict=True)
        ),
        Binding("f1", "act('f1')", "Keys"),
    ]

    def compose(self) -> ComposeResult:
        yield KeyFooter()

    def action_act(self, key: str) -> None:
        """Do nothing."""


def keys_displayed(pilot: Pilot[Any]) -> list[FooterKey]:
    return [key for key in pilot.app.query_one(KeyFooter).query(FooterKey) if key.display]


async def shown_keys(pilot: Pilot[Any]) -> list[str]:
    """The keys on the screen, once it is drawn, after a check that all of them are whole."""
    await until(pilot, lambda: all(key.region.width for key in keys_displayed(pilot)))
    footer = pilot.app.query_one(KeyFooter)
    shown = keys_displayed(pilot)
    places = [key.region for key in shown]
    assert all(footer.region.contains_region(place) for place in places)
    assert not any(one.overlaps(other) for one in places for other in places if one is not other)
    return [key.description for key in shown]


@pytest.mark.parametrize("width", [30, 40, 47, 48, 60, 80, 93, 120])
async def test_no_key_is_cut_off(width: int) -> None:
    async with Host().run_test(size=(width, 10)) as pilot:
        await pilot.pause()
        shown = await shown_keys(pilot)
        others = shown[: -len(ALWAYS)]
        assert shown == [*NAMES[: len(others)], *ALWAYS]


@pytest.mark.parametrize(("width", "shown"), [(WIDTH, NAMES), (WIDTH - 1, NAMES[:-1])])
async def test_a_key_is_shown_if_it_just_fits(width: int, shown: tuple[str, ...]) -> None:
    async with Host().run_test(size=(width, 10)) as pilot:
        await pilot.pause()
        assert await shown_keys(pilot) == [*shown, *ALWAYS]


async def test_keys_come_and_go_with_the_width() -> None:
    async with Host().run_test(size=(120, 10)) as pilot:
        seen = []
        for width in (120, 50, 120):
            await pilot.resize_terminal(width, 10)
            await pilot.pause()
            seen.append(len(await shown_keys(pilot)))
        assert seen[0] == seen[2] == len(NAMES) + len(ALWAYS)
        assert seen[1] < seen[0]


class Writer(App[None]):
    """A text area has the focus, to which Ctrl+A means something as well."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+b", "bell", "Before"),
        Binding("ctrl+a", "quit", "All", priority=True),
    ]

    def compose(self) -> ComposeResult:
        yield TextArea()
        yield KeyFooter()


async def test_keys_are_in_the_order_in_which_they_are_declared() -> None:
    async with Writer().run_test(size=(120, 10)) as pilot:
        await pilot.pause()
        shown = await shown_keys(pilot)
        assert shown.index("Before") < shown.index("All")

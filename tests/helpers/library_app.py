"""The library alone, and what it asks the app for."""

from collections.abc import Sequence
from typing import Any

from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Static

from helpers.piloting import shown, until
from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_tui.screens.library import LibraryScreen
from rolellm_tui.widgets.library.cast_list import CastList
from rolellm_tui.widgets.library.persona_view import PersonaView


class LibraryApp(App[None]):
    """Shows the library and remembers who was chosen."""

    TITLE = "RoleLLM"

    def __init__(self, recent: Sequence[str] = (), user: str = DEFAULT_USER) -> None:
        super().__init__()
        self.library = LibraryScreen(recent, user=user)
        self.chosen: list[LibraryScreen.Chosen] = []

    def on_mount(self) -> None:
        self.push_screen(self.library)

    def on_library_screen_chosen(self, event: LibraryScreen.Chosen) -> None:
        self.chosen.append(event)


async def read(pilot: Pilot[Any]) -> None:
    """Wait until the cast is there and the first card with it."""
    await until(pilot, lambda: pilot.app.screen.query("#cast") and cast(pilot))
    pilot.app.screen.query_one("#search", Input).cursor_blink = False
    await carded(pilot)


async def carded(pilot: Pilot[Any]) -> None:
    """Wait until the card is that of whom the highlight is on."""
    library = pilot.app.screen
    await until(pilot, lambda: on_card(pilot) == highlighted(pilot))
    assert isinstance(library, LibraryScreen)


def cast(pilot: Pilot[Any]) -> list[str | None]:
    """The ids of the personas that are listed."""
    return [option.id for option in pilot.app.screen.query_one("#cast", OptionList).options]


def highlighted(pilot: Pilot[Any]) -> str | None:
    """Whom the highlight is on."""
    option = pilot.app.screen.query_one("#cast", OptionList).highlighted_option
    return option.id if option else None


def on_card(pilot: Pilot[Any]) -> str | None:
    """Whose card is filled."""
    found = pilot.app.screen.query_one(PersonaView).found
    return found.persona.id if found else None


def card(pilot: Pilot[Any], part: str) -> str:
    """What a part of the card says, in one line."""
    return " ".join(shown(pilot.app.screen.query_one(PersonaView).query_one(f".{part}", Static)).split())


def rows(pilot: Pilot[Any]) -> str:
    """What the list draws."""
    return shown(pilot.app.screen.query_one(CastList))


def count(pilot: Pilot[Any]) -> str:
    """What the search line says of how many are left."""
    return str(pilot.app.screen.query_one("#search", Input).border_subtitle)


def notes(pilot: Pilot[Any]) -> str:
    """What is told above the list."""
    return shown(pilot.app.screen.query_one("#notes", Static))

"""An app with a single screen, to drive the screen by its keys."""

from collections.abc import Callable
from typing import Any

from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen


class OneScreen(App[None]):
    """Shows a screen and keeps what it was dismissed with."""

    def __init__(self, make: Callable[[], Screen[Any]]) -> None:
        super().__init__()
        self._make = make
        self.dismissed: list[Any] = []

    def on_mount(self) -> None:
        self.push_screen(self._make(), self.dismissed.append)


def screen(pilot: Pilot[Any]) -> str:
    """The name of the screen on top."""
    return type(pilot.app.screen).__name__

"""An app that shows one screen, and does what screens and the palette ask an app for."""

from typing import Any, ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input, TextArea

from helpers.piloting import shown
from rolellm_agents.transcript import Transcript
from rolellm_tui.commands import RoleCommands
from rolellm_tui.habits import AppHabits
from rolellm_tui.screens.conversations import ConversationsScreen
from rolellm_tui.screens.keys import KeysScreen

_NOT_LEFT = object()


class ScreenApp(App[None]):
    """Remembers what was asked for, in order."""

    TITLE = "RoleLLM"
    COMMANDS = App.COMMANDS | {RoleCommands}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "keys", "Help", id="keys", tooltip="Key bindings of this screen."),
        Binding("ctrl+q", "quit", "Quit", id="quit", tooltip="Quit. All messages are saved."),
    ]

    def __init__(self, first: Screen[Any], transcript: Transcript | None = None) -> None:
        super().__init__()
        self.first = first
        self.transcript = transcript
        self.asked: list[tuple[str | None, ...]] = []
        self.result: object = _NOT_LEFT

    @property
    def left(self) -> bool:
        """Whether the screen is gone."""
        return self.result is not _NOT_LEFT

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return AppHabits().style_variables

    def on_mount(self) -> None:
        self.push_screen(self.first, self._leave)

    def _leave(self, result: object) -> None:
        self.result = result

    def action_keys(self) -> None:
        self.push_screen(KeysScreen())

    def on_conversations_screen_opened(self, event: ConversationsScreen.Opened) -> None:
        self.asked.append(("open", event.conversation, event.message))

    def talk_with(self, persona_id: str) -> None:
        self.asked.append(("talk", persona_id))

    def go_on_with(self, conversation: str, message: str | None = None) -> None:
        self.asked.append(("go on", conversation, message))

    def use_strategy(self, name: str) -> None:
        self.asked.append(("strategy", name))

    def use_preset(self, name: str | None) -> None:
        self.asked.append(("preset", name))


def name_of_screen(pilot: Pilot[Any]) -> str:
    """Which screen is on top."""
    return type(pilot.app.screen).__name__


def text_of(pilot: Pilot[Any], selector: str) -> str:
    """What a widget of the screen on top draws, with single spaces; nothing while it is not there."""
    found = pilot.app.screen.query(selector)
    return " ".join(shown(found.first()).split()) if found else ""


def hold_still(pilot: Pilot[Any]) -> None:
    """No cursor blinks, so that pictures are the same each time."""
    for line in pilot.app.screen.query(Input):
        line.cursor_blink = False
    for area in pilot.app.screen.query(TextArea):
        area.cursor_blink = False

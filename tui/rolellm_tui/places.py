"""Where a user is in the app, so that the app can return there in another process."""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Self

from textual.screen import Screen

from rolellm_tui.screens.chat import ChatScreen
from rolellm_tui.screens.scene import SceneScreen

PLACE_VARIABLE = "ROLELLM_PLACE"
"""The environment variable that tells the app of a browser tab its place."""


@dataclass(frozen=True)
class Place:
    """A conversation, or the beginning of one, which has no id until something is said."""

    conversation: str | None = None
    """Id of the conversation or scene."""
    persona: str | None = None
    """Id of the persona of a chat."""
    strategy: str | None = None
    """The strategy that was chosen for the chat; None for the usual one."""
    model: str | None = None
    """The model that was chosen for the chat; None for the usual one."""
    greeting: int = 0
    """Index of the greeting with which the chat begins."""

    def to_json(self) -> str:
        """As text, for `from_json`."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self | None:
        """Read a place, or None if the text is none."""
        try:
            told = json.loads(text)
            return cls(**told)
        except (ValueError, TypeError):
            return None


def place_of(screens: Iterable[Screen[Any]]) -> Place | None:
    """The chat or scene among the screens of the app; None if there is none."""
    for screen in screens:
        match screen:
            case ChatScreen() if screen.is_mounted:
                chat = screen.opening
                return Place(chat.conversation, chat.persona.id, chat.strategy, chat.model, chat.greeting)
            case SceneScreen() if screen.stage.conversation:
                return Place(screen.stage.conversation)
    return None


def place_in_environment() -> Place | None:
    """The place where the app begins; None for its usual start."""
    return Place.from_json(os.environ.get(PLACE_VARIABLE, ""))

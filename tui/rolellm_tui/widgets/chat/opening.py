"""How a chat is opened."""

from dataclasses import dataclass
from pathlib import Path

from rolellm_agents.persona import Persona
from rolellm_agents.persona.from_card.conversion import greetings_of, with_macros
from rolellm_tui.slash.own import OwnRun


@dataclass(frozen=True)
class ChatOpening:
    """The persona, the conversation and the options of a chat."""

    persona: Persona
    """As loaded, with macros not yet expanded."""
    path: Path | None = None
    """The persona's file if it was named by path; None for the file that its id finds."""
    conversation: str | None = None
    """Id of the conversation to resume; None for the latest with this persona."""
    new: bool = False
    """Start a new conversation instead of resuming the latest."""
    strategy: str | None = None
    """None for the one in the settings."""
    model: str | None = None
    """A name or a spec; None for the one in the settings."""
    greeting: int = 0
    """Index of the greeting for a new conversation; 0 is the main one."""
    at: str | None = None
    """Id of the message to show, on any branch; None for the newest."""
    stopped: OwnRun | None = None
    """The user's own command that has stopped in this chat."""


def greetings_for(persona: Persona, user: str) -> list[str]:
    """The main greeting and the alternates of the card, with macros expanded."""
    return [
        with_macros(persona.model_copy(update={"greeting": greeting}), user).greeting
        for greeting in greetings_of(persona)
    ]

"""What a chat is opened with."""

from dataclasses import dataclass

from rolellm_agents.persona import Persona


@dataclass(frozen=True)
class ChatOpening:
    """Whom one talks with, which conversation it is, and how it begins."""

    persona: Persona
    """As it was loaded: its macros are still to be filled."""
    conversation: str | None = None
    """The id of the one to go on with; None for the last with this persona, unless it is to be new."""
    new: bool = False
    """Start a new conversation instead of resuming the latest."""
    strategy: str | None = None
    """None for the one in the settings."""
    model: str | None = None
    """A name or a spec; None for the one in the settings."""
    greeting: int = 0
    """Which of the persona's greetings a new conversation begins with; 0 is its own."""
    at: str | None = None
    """The id of the message to show first, on whatever branch it is; the newest when None."""

"""Opening of sessions with the options of a command and the user's settings."""

from typing import Protocol

from rolellm_agents.persona import Persona
from rolellm_graphs.chat.session import Session


class OpenSession(Protocol):
    """Opens sessions with the options of the command line and the settings."""

    def __call__(
        self,
        persona: Persona,
        conversation: str | None,
        /,
        *,
        strategy: str | None = None,
        model: str | None = None,
    ) -> Session:
        """Open a session.

        Args:
            persona: the persona to talk with.
            conversation: the id of a conversation to resume; None starts a new one.
            strategy: the strategy's name; None for the default.
            model: the model's name or spec; None for the default.

        Raises:
            RoleLLMError: the session cannot be opened.
        """

"""The greetings a persona may begin with, as the person is to read them."""

from rolellm_agents.persona import Persona
from rolellm_agents.persona.from_card.conversion import greetings_of, with_macros


def greetings_for(persona: Persona, user: str) -> list[str]:
    """The persona's own greeting and the alternates of its card, with `{{user}}` and the rest filled."""
    return [
        with_macros(persona.model_copy(update={"greeting": greeting}), user).greeting
        for greeting in greetings_of(persona)
    ]

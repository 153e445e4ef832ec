"""Who plays: the bundled personas, as the `system` strategy puts them to a model."""

from rolellm_agents.errors import PersonaError
from rolellm_agents.persona import Persona, filter_personas, list_personas
from rolellm_agents.prompting.strategies import system
from rolellm_speed.engine.workload import Role


def bundled_roles() -> list[Role]:
    """The bundled English personas by id, so that a user's own change nothing."""
    found = [
        one for one in filter_personas(list_personas().found, language="en") if one.origin == "bundled"
    ]
    return [role_of(one.persona) for one in sorted(found, key=lambda one: one.persona.id)]


def take(roles: list[Role], count: int) -> list[Role]:
    """The first `count`.

    Raises:
        PersonaError: there are not so many.
    """
    if len(roles) < count:
        raise PersonaError(
            f"The scene wants {count} characters, and there are {len(roles)} bundled English ones; "
            f"use --characters {len(roles)}."
        )
    return roles[:count]


def role_of(persona: Persona) -> Role:
    """A persona's system turn, with what it knows after it; the scene cuts all cards to one length."""
    instruction = system(persona, [], [], "")[0].text
    knowledge = (f"{known.title}: {known.text}" for known in persona.knowledge)
    return Role(persona.name, "\n\n".join((instruction, *knowledge)))

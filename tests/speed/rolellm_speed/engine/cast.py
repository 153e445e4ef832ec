"""The characters of the scene: bundled personas with their messages of the `system` strategy."""

from rolellm_agents.errors import PersonaError
from rolellm_agents.persona import Persona, filter_personas, list_personas
from rolellm_agents.prompting.strategies import system
from rolellm_speed.engine.workload import Role


def bundled_roles() -> list[Role]:
    """The bundled English personas, sorted by id; a user's own personas are ignored."""
    found = [
        one for one in filter_personas(list_personas().found, language="en") if one.origin == "bundled"
    ]
    return [role_of(one.persona) for one in sorted(found, key=lambda one: one.persona.id)]


def take(roles: list[Role], count: int) -> list[Role]:
    """The first `count` roles.

    Raises:
        PersonaError: there are fewer roles.
    """
    if len(roles) < count:
        raise PersonaError(
            f"The scene wants {count} characters, and there are {len(roles)} bundled English ones; "
            f"use --characters {len(roles)}."
        )
    return roles[:count]


def role_of(persona: Persona) -> Role:
    """A persona's system message followed by its knowledge; the scene truncates all to one length."""
    instruction = system(persona, [], [], "")[0].text
    knowledge = (f"{known.title}: {known.text}" for known in persona.knowledge)
    return Role(persona.name, "\n\n".join((instruction, *knowledge)))

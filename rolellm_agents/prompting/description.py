"""What prompts say of a persona: its description, and the moment of its story."""

from rolellm_agents.persona import Persona
from rolellm_agents.prompting.prompts import load_prompt


def description_of(persona: Persona) -> str:
    """The description, and the moment of the story, if there is one, with what is not known then."""
    if not persona.moment:
        return persona.description
    moment = persona.moment.rstrip(".。 ")
    known = load_prompt("moment", persona.language).fill(name=persona.name, moment=moment)
    return f"{persona.description}\n{known}"

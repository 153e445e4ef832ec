"""What prompts say of a persona: its description, and the moment of its story."""

from rolellm_agents.persona import Persona
from rolellm_agents.prompting.prompts import load_prompt


def description_of(persona: Persona) -> str:
    """The description, and the moment of the story, if there is one, with what is not known then."""
    return f"{persona.description}\n{moment_of(persona)}" if persona.moment else persona.description


def moment_of(persona: Persona) -> str:
    """What a persona with a `moment` knows at it, and what it cannot know."""
    prompt = load_prompt("moment", persona.language)
    return prompt.fill(name=persona.name, moment=persona.moment.rstrip(".。 "))

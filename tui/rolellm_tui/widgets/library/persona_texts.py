"""How a persona's facts are put into words."""

from rolellm_agents.persona import Persona
from rolellm_agents.text import one_line

LANGUAGES = {"en": "English", "zh": "中文"}
"""What a language calls itself, by its code."""


def work_and_year(persona: Persona) -> str:
    """The work a persona comes from and its year; nothing when it comes from none."""
    if persona.source is None:
        return ""
    year = persona.source.year
    return f"{one_line(persona.source.work)}, {f'{-year} BCE' if year < 0 else year}"

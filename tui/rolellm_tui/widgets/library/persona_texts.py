"""Texts that the library shows for a persona."""

from rolellm_agents.persona import Persona
from rolellm_agents.text import one_line

LANGUAGES = {"en": "English", "zh": "中文"}
"""Native names of languages, by code."""


def work_and_year(persona: Persona) -> str:
    """The work and year of a persona as one text; empty when it has no source."""
    if persona.source is None:
        return ""
    year = persona.source.year
    return f"{one_line(persona.source.work)}, {f'{-year} BCE' if year < 0 else year}"

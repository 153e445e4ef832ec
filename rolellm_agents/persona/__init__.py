"""Personas: data, library, and conversion from cards and scripts."""

from rolellm_agents.persona.data import (
    Demonstration,
    Knowledge,
    Line,
    Persona,
    PersonaId,
    Source,
    id_of,
)
from rolellm_agents.persona.library import (
    Cast,
    FoundPersona,
    Origin,
    filter_personas,
    find_persona,
    list_personas,
    load_persona,
    read_persona,
)

__all__ = [
    "Cast",
    "Demonstration",
    "FoundPersona",
    "Knowledge",
    "Line",
    "Origin",
    "Persona",
    "PersonaId",
    "Source",
    "filter_personas",
    "find_persona",
    "id_of",
    "list_personas",
    "load_persona",
    "read_persona",
]

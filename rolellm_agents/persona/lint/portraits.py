"""Checks of the pictures that persona files name."""

from collections.abc import Iterable, Iterator

from rolellm_agents.errors import PersonaError
from rolellm_agents.persona import FoundPersona
from rolellm_agents.persona.lint.finding import PersonaFinding
from rolellm_agents.persona.portrait import read_portrait


def check_portraits(found: Iterable[FoundPersona]) -> Iterator[PersonaFinding]:
    """Find portraits that are missing, outside of the folder of the persona's file, or no pictures."""
    for one in found:
        try:
            read_portrait(one.persona, one.path.parent)
        except PersonaError as error:
            yield PersonaFinding(one.persona.id, "unusable-portrait", str(error))

"""A linter for personas: what goes wrong when many are written, and whether their voices are apart."""

from collections.abc import Sequence

from rolellm_agents.persona import Persona
from rolellm_agents.persona.lint.cast import check_copies, check_names
from rolellm_agents.persona.lint.finding import PersonaFinding, Rule
from rolellm_agents.persona.lint.parts import check_parts
from rolellm_agents.persona.lint.speech import check_speech

__all__ = ["PersonaFinding", "Rule", "check_personas"]


def check_personas(checked: Sequence[Persona], beside: Sequence[Persona] = ()) -> list[PersonaFinding]:
    """What is wrong with personas, each alone, with each other and beside the rest of the cast.

    Args:
        checked: those that findings are about, in the order of the findings.
        beside: others, whose lines must not be copied and whose names must not be said.
    """
    found = [
        *(finding for persona in checked for finding in (*check_parts(persona), *check_speech(persona))),
        *check_copies(checked, beside),
        *check_names(checked, beside),
    ]
    place = {persona.id: number for number, persona in enumerate(checked)}
    return sorted(found, key=lambda finding: place[finding.persona])

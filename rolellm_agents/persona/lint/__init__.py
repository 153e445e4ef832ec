"""A linter for personas."""

from collections.abc import Sequence

from rolellm_agents.persona import Persona
from rolellm_agents.persona.lint.cast import check_copies, check_names
from rolellm_agents.persona.lint.finding import PersonaFinding, Rule
from rolellm_agents.persona.lint.parts import check_parts
from rolellm_agents.persona.lint.speech import check_speech

__all__ = ["PersonaFinding", "Rule", "check_personas"]


def check_personas(checked: Sequence[Persona], others: Sequence[Persona] = ()) -> list[PersonaFinding]:
    """Check personas one by one, against each other and against others.

    Args:
        checked: the personas to check; the findings are in their order.
        others: other personas, whose lines and names must not occur in the checked ones.
    """
    found = [
        *(finding for persona in checked for finding in (*check_parts(persona), *check_speech(persona))),
        *check_copies(checked, others),
        *check_names(checked, others),
    ]
    place = {persona.id: number for number, persona in enumerate(checked)}
    return sorted(found, key=lambda finding: place[finding.persona])

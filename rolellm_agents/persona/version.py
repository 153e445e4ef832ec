"""The version of a persona, by which data that was written for it recognizes it."""

import hashlib
import json

from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.persona.data import Persona
from rolellm_agents.persona.from_card.conversion import with_macros

_DIGITS = 12


def persona_version(persona: Persona) -> str:
    """A digest of what instructions say of a persona: name, language, description, moment and catchphrases.

    Other parts, such as demonstrations, may change without making earlier data wrong.

    Returns:
        12 hexadecimal digits.
    """
    filled = with_macros(persona, DEFAULT_USER)
    parts = [filled.name, filled.language, filled.description, *filled.catchphrases]
    parts += [f"moment: {filled.moment}"] if filled.moment else []
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:_DIGITS]

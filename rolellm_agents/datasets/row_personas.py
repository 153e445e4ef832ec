"""The personas for which samples were written.

Generated rows carry the id of their persona and its version (`persona_version`), because two personas may
have one name: a user's own Holmes and the bundled one.
"""

from collections.abc import Iterable
from typing import Final

from rolellm_agents.datasets.keys import role_key
from rolellm_agents.datasets.sample import Sample
from rolellm_agents.errors import PersonaError
from rolellm_agents.persona import Persona
from rolellm_agents.persona.version import persona_version
from rolellm_agents.text import one_line
from rolellm_agents.text.language import Language

PERSONA: Final = "persona"
"""The field of a row with the persona's id."""
VERSION: Final = "persona_version"
"""The field of a row with the persona's version."""


def persona_fields(persona: Persona) -> dict[str, str]:
    """The fields with which rows name the persona that they were written for."""
    return {PERSONA: persona.id, VERSION: persona_version(persona)}


class RowPersonas:
    """Finds the persona of each row in a cast."""

    def __init__(self, cast: Iterable[Persona]) -> None:
        """Index the personas by id, and by name and language; of several the first counts."""
        self._by_id: dict[str, Persona] = {}
        self._by_name: dict[tuple[Language, str], Persona] = {}
        self._versions: dict[str, str] = {}
        for persona in cast:
            self._by_id.setdefault(persona.id, persona)
            self._by_name.setdefault((persona.language, role_key(persona.name)), persona)

    def of(self, sample: Sample) -> Persona | None:
        """The persona for which a row was written.

        A row with a version belongs to the persona with its id. Other rows belong to the persona with
        their id, or else to the one with the role's name and language.

        Returns:
            None if the cast does not have the persona.

        Raises:
            PersonaError: the persona with the row's id is another one than the row was written for.
        """
        named = sample.extra.get(PERSONA)
        persona = self._by_id.get(named) if isinstance(named, str) else None
        if sample.extra.get(VERSION) is None:
            return persona or self._by_name.get((sample.language, role_key(sample.role)))
        if persona is not None:
            self.check(sample, persona)
        return persona

    def check(self, sample: Sample, persona: Persona) -> None:
        """Check that a row was written for a persona; rows without a version pass.

        Raises:
            PersonaError: it was written for another one.
        """
        written = sample.extra.get(VERSION)
        if written is None:
            return
        if persona.id not in self._versions:
            self._versions[persona.id] = persona_version(persona)
        here = self._versions[persona.id]
        if (written, sample.extra.get(PERSONA)) != (here, persona.id):
            raise PersonaError(
                f"The rows of “{one_line(sample.role, 60)}” were written for the persona "
                f"{one_line(str(sample.extra.get(PERSONA)), 60)}, version {one_line(str(written), 20)}; "
                f"the one here is {persona.id}, version {here}. Name the file of the first with --persona."
            )

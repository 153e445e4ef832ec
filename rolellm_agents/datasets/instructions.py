"""The `system` strategy's instructions for the personas of samples."""

from collections.abc import Iterable

from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.datasets.row_personas import RowPersonas
from rolellm_agents.datasets.sample import Sample
from rolellm_agents.persona import Persona
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.prompting.composer import Prompting


class SystemInstructions:
    """The instructions of a cast, each composed on first use."""

    def __init__(self, cast: Iterable[Persona]) -> None:
        """Index the personas."""
        self._personas = RowPersonas(cast)
        self._instructions: dict[str, str] = {}

    def __call__(self, sample: Sample) -> str:
        """The instruction exactly as in a chat; empty without a persona.

        Raises:
            PersonaError: the sample was written for another persona with the same id.
        """
        persona = self._personas.of(sample)
        if persona is None:
            return ""
        if persona.id not in self._instructions:
            prompting = Prompting(with_macros(persona, DEFAULT_USER), "system", user=DEFAULT_USER)
            self._instructions[persona.id] = prompting.stable_prefix([])[0].text
        return self._instructions[persona.id]

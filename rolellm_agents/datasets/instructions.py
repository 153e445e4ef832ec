"""The `system` strategy's instructions for the personas of samples."""

from collections.abc import Iterable

from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.datasets.keys import role_key
from rolellm_agents.datasets.sample import Sample
from rolellm_agents.persona import Persona
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.prompting.composer import Prompting
from rolellm_agents.text.language import Language


class SystemInstructions:
    """The instructions of a cast, each composed on first use."""

    def __init__(self, cast: Iterable[Persona]) -> None:
        """Index the personas by id, and by name and language."""
        self._by_id: dict[str, Persona] = {}
        self._by_name: dict[tuple[Language, str], Persona] = {}
        for persona in cast:
            self._by_id[persona.id] = persona
            self._by_name.setdefault((persona.language, role_key(persona.name)), persona)
        self._instructions: dict[str, str] = {}

    def persona_of(self, sample: Sample) -> Persona | None:
        """The persona that the sample names; otherwise the one with the role's name and language."""
        named = sample.extra.get("persona")
        if isinstance(named, str) and named in self._by_id:
            return self._by_id[named]
        return self._by_name.get((sample.language, role_key(sample.role)))

    def __call__(self, sample: Sample) -> str:
        """The instruction exactly as in a chat; empty without a persona."""
        persona = self.persona_of(sample)
        if persona is None:
            return ""
        if persona.id not in self._instructions:
            prompting = Prompting(with_macros(persona, DEFAULT_USER), "system", user=DEFAULT_USER)
            self._instructions[persona.id] = prompting.stable_prefix([])[0].text
        return self._instructions[persona.id]

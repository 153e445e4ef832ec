"""What the personas of samples are told when they answer: the `system` strategy's instruction."""

from collections.abc import Iterable

from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.datasets.keys import role_key
from rolellm_agents.datasets.sample import Sample
from rolellm_agents.persona import Persona
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.prompting.composer import Prompting
from rolellm_agents.text.language import Language


class SystemInstructions:
    """The instructions of a cast, each made when it is first asked for."""

    def __init__(self, cast: Iterable[Persona]) -> None:
        """Know the personas by their ids, and by their names in each language."""
        self._by_id: dict[str, Persona] = {}
        self._by_name: dict[tuple[Language, str], Persona] = {}
        for persona in cast:
            self._by_id[persona.id] = persona
            self._by_name.setdefault((persona.language, role_key(persona.name)), persona)
        self._made: dict[str, str] = {}

    def persona_of(self, sample: Sample) -> Persona | None:
        """The persona that the sample names, or else the one of its role's name and language."""
        named = sample.extra.get("persona")
        if isinstance(named, str) and named in self._by_id:
            return self._by_id[named]
        return self._by_name.get((sample.language, role_key(sample.role)))

    def __call__(self, sample: Sample) -> str:
        """Byte for byte what a model is told in a chat; empty without a persona."""
        persona = self.persona_of(sample)
        if persona is None:
            return ""
        if persona.id not in self._made:
            prompting = Prompting(with_macros(persona, DEFAULT_USER), "system", user=DEFAULT_USER)
            self._made[persona.id] = prompting.foreseen([])[0].text
        return self._made[persona.id]

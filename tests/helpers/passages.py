"""Passages, and personas that hold little else."""

from collections.abc import Sequence

from rolellm_agents.persona import Demonstration, Persona
from rolellm_agents.recall import Hit, Passage
from rolellm_agents.recall.passages import Kind
from rolellm_agents.text.language import Language


def pieces(*texts: str, kind: Kind = "knowledge", source: str = "a book") -> list[Passage]:
    """A passage for each text, numbered."""
    return [Passage(kind, text, source, number) for number, text in enumerate(texts)]


def persona_of(pairs: Sequence[tuple[str, str]], language: Language = "en") -> Persona:
    """Ada, with these demonstrations."""
    return Persona(
        id="ada",
        name="Ada",
        language=language,
        description="Somebody.",
        demonstrations=tuple(Demonstration(user=user, reply=reply) for user, reply in pairs),
    )


def texts_of(hits: Sequence[Hit]) -> list[str]:
    """What was found, best first."""
    return [hit.passage.text for hit in hits]

"""Checks for missing parts, and for parts that are too short or too long."""

from collections.abc import Iterator

from rolellm_agents.persona import Persona
from rolellm_agents.persona.lint.finding import PersonaFinding, Rule
from rolellm_agents.text.language import Language

CATEGORIES = frozenset(
    {
        *("hero", "villain", "rogue", "leader", "thinker", "artist"),
        *("warrior", "comic", "outsider", "machine", "creature", "everyman"),
    }
)
_DESCRIPTION: dict[Language, tuple[int, int, str]] = {
    "en": (60, 150, "words"),
    "zh": (100, 300, "characters"),
}
"""Least and most length. A short description leaves the voice open; a long one costs tokens each time."""
_AT_LEAST = {"demonstrations": 8, "knowledge": 6, "catchphrases": 4}
_CATCHPHRASES = 10


def check_parts(persona: Persona) -> Iterator[PersonaFinding]:
    """Check the parts of a persona by the standard of the bundled cast."""

    def finding(rule: Rule, message: str) -> PersonaFinding:
        return PersonaFinding(persona.id, rule, message)

    for part in ("greeting", "category", "source"):
        if not getattr(persona, part):
            yield finding("part-missing", f"there is no {part}")
    if persona.category and persona.category not in CATEGORIES:
        yield finding(
            "part-missing",
            f"the category {persona.category!r} is none of {', '.join(sorted(CATEGORIES))}",
        )
    for part, least in _AT_LEAST.items():
        count = len(getattr(persona, part))
        if count < least:
            yield finding(
                "part-thin" if count else "part-missing", f"{count} {part}, at least {least} are required"
            )
    if len(persona.catchphrases) > _CATCHPHRASES:
        yield finding(
            "part-thin",
            f"{len(persona.catchphrases)} catchphrases, more than {_CATCHPHRASES}, which makes a "
            "caricature",
        )
    least, most, unit = _DESCRIPTION[persona.language]
    length = len(persona.description.split()) if unit == "words" else len(persona.description)
    if not least <= length <= most:
        yield finding("part-thin", f"the description has {length} {unit}; {least} to {most} are required")

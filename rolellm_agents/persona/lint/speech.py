"""Checks of the way a single persona speaks."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from rolellm_agents.persona import Persona
from rolellm_agents.persona.lint.finding import PersonaFinding
from rolellm_agents.text import one_line
from rolellm_agents.text.ai_talk import ai_talk
from rolellm_agents.text.language import is_in_other_language
from rolellm_agents.text.phrases import is_heard, opening

_STAGE_DIRECTION = re.compile(r"\*[^*]+\*|\A\s*[(（\[【]|[)）\]】]\s*\Z")
_SHOWN = 60


class SpokenLine(NamedTuple):
    """A spoken text of a persona, and the part that it is."""

    place: str
    text: str


def spoken_lines(persona: Persona) -> list[SpokenLine]:
    """The spoken lines of a persona: the greeting and the replies."""
    greeting = [SpokenLine("the greeting", persona.greeting)] if persona.greeting else []
    return greeting + [
        SpokenLine(f"reply {number}", pair.reply) for number, pair in enumerate(persona.demonstrations, 1)
    ]


def check_speech(persona: Persona) -> Iterator[PersonaFinding]:
    """Check assistant's phrases, stage directions, language, repeated openings, unused catchphrases."""
    for line in spoken_lines(persona):
        if phrase := ai_talk(line.text):
            yield PersonaFinding(persona.id, "assistant-speak", f"{line.place} says {phrase!r}")
        if _STAGE_DIRECTION.search(line.text):
            shown = one_line(line.text, _SHOWN)
            yield PersonaFinding(
                persona.id, "stage-direction", f"{line.place} acts instead of speaking: {shown!r}"
            )
    yield from _check_language(persona)
    yield from _check_openings(persona)
    yield from _check_catchphrases(persona)


def _check_language(persona: Persona) -> Iterator[PersonaFinding]:
    knowledge = [
        SpokenLine(f"knowledge {piece.title!r}", f"{piece.title}\n{piece.text}")
        for piece in persona.knowledge
    ]
    for line in [SpokenLine("the description", persona.description), *spoken_lines(persona), *knowledge]:
        if is_in_other_language(line.text, persona.language):
            shown = one_line(line.text, _SHOWN)
            yield PersonaFinding(
                persona.id, "wrong-language", f"{line.place} is not in {persona.language!r}: {shown!r}"
            )


def _check_openings(persona: Persona) -> Iterator[PersonaFinding]:
    openings = Counter(opening(pair.reply, persona.language) for pair in persona.demonstrations)
    for words, times in openings.items():
        if times > 1:
            yield PersonaFinding(persona.id, "same-opening", f"{times} replies begin with {words!r}")


def _check_catchphrases(persona: Persona) -> Iterator[PersonaFinding]:
    unheard = [
        phrase
        for phrase in persona.catchphrases
        if not any(is_heard(phrase, pair.reply, persona.language) for pair in persona.demonstrations)
    ]
    if 2 * len(unheard) > len(persona.catchphrases):
        named = ", ".join(repr(one_line(phrase, 40)) for phrase in unheard)
        yield PersonaFinding(
            persona.id,
            "unheard-catchphrase",
            f"{len(unheard)} of {len(persona.catchphrases)} catchphrases occur in no reply: {named}",
        )

"""What is wrong with the way a character speaks, seen in one persona alone."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from rolellm_agents.ai_talk import ai_talk
from rolellm_agents.persona import Persona
from rolellm_agents.persona_check.finding import Finding
from rolellm_agents.text import one_line

_STAGE_DIRECTION = re.compile(r"\*[^*]+\*|\A\s*[(（\[【]|[)）\]】]\s*\Z")
_HAN = re.compile(r"[\u3400-\u9fff]")
_LATIN = re.compile(r"[A-Za-z]")
_ENGLISH = re.compile(
    r"\b(?:the|and|of|to|is|was|are|you|it|that|this|with|for|but|have|not|from|my|your|what)\b",
    re.IGNORECASE,
)
_OTHER_LATIN = re.compile(
    r"\b(?:el|los|las|una|por|para|está|qué|pero|le|les|des|une|est|dans|pour|je|ne|pas|vous|der|das|und|ist"
    r"|nicht|ein|eine|ich|mit|auf|il|che|per|non|sono|della|não|uma|com|você)\b",
    re.IGNORECASE,
)
"""Small words of Spanish, French, German, Italian and Portuguese that English has not."""
_SURE = 3
"""So many of them are no quotation."""
_SHOWN = 60


class Line(NamedTuple):
    """A text of a persona, and where it stands."""

    place: str
    text: str


def spoken_lines(persona: Persona) -> list[Line]:
    """What the character says aloud: the greeting and the replies."""
    greeting = [Line("the greeting", persona.greeting)] if persona.greeting else []
    return greeting + [
        Line(f"reply {number}", pair.reply) for number, pair in enumerate(persona.demonstrations, 1)
    ]


def check_speech(persona: Persona) -> Iterator[Finding]:
    """Assistant-speak, stage directions, the wrong language, one opening for all, unheard catchphrases."""
    for line in spoken_lines(persona):
        if phrase := ai_talk(line.text):
            yield Finding(persona.id, "assistant-speak", f"{line.place} says {phrase!r}")
        if _STAGE_DIRECTION.search(line.text):
            shown = one_line(line.text, _SHOWN)
            yield Finding(
                persona.id, "stage-direction", f"{line.place} acts instead of speaking: {shown!r}"
            )
    yield from _check_language(persona)
    yield from _check_openings(persona)
    yield from _check_catchphrases(persona)


def _check_language(persona: Persona) -> Iterator[Finding]:
    knowledge = [
        Line(f"knowledge {piece.title!r}", f"{piece.title}\n{piece.text}") for piece in persona.knowledge
    ]
    for line in [Line("the description", persona.description), *spoken_lines(persona), *knowledge]:
        if is_in_other_language(line.text, persona.language):
            shown = one_line(line.text, _SHOWN)
            yield Finding(
                persona.id, "wrong-language", f"{line.place} is not in {persona.language!r}: {shown!r}"
            )


def is_in_other_language(text: str, language: str) -> bool:
    """Whether a text is certainly not in English (`en`) or Chinese (`zh`); a single name is not enough."""
    han, latin = len(_HAN.findall(text)), len(_LATIN.findall(text))
    if language == "zh":
        return latin > max(han, 3)
    others = len(_OTHER_LATIN.findall(text))
    return han > latin or (others >= _SURE and others > len(_ENGLISH.findall(text)))


def _check_openings(persona: Persona) -> Iterator[Finding]:
    openings = Counter(opening(pair.reply, persona.language) for pair in persona.demonstrations)
    for words, times in openings.items():
        if times > 1:
            yield Finding(persona.id, "same-opening", f"{times} replies begin with {words!r}")


def _check_catchphrases(persona: Persona) -> Iterator[Finding]:
    unheard = [
        phrase
        for phrase in persona.catchphrases
        if not any(is_heard(phrase, pair.reply, persona.language) for pair in persona.demonstrations)
    ]
    if 2 * len(unheard) > len(persona.catchphrases):
        named = ", ".join(repr(one_line(phrase, 40)) for phrase in unheard)
        yield Finding(
            persona.id,
            "unheard-catchphrase",
            f"{len(unheard)} of {len(persona.catchphrases)} catchphrases are heard in no reply: {named}",
        )


def opening(text: str, language: str) -> str:
    """The first three words; in Chinese, where words are not set apart, the first three characters."""
    return bare(text).replace(" ", "")[:3] if language == "zh" else " ".join(bare(text).split()[:3])


def is_heard(phrase: str, reply: str, language: str) -> bool:
    """Whether the words of the phrase stand in the reply, one after the other."""
    return times_heard(phrase, reply, language) > 0


def times_heard(phrase: str, reply: str, language: str) -> int:
    """How often the words of the phrase stand in the reply, one after the other."""
    words, said = bare(phrase), bare(reply)
    if not words:
        return 0
    if language == "zh":
        return said.replace(" ", "").count(words.replace(" ", ""))
    # Each word with spaces of its own, so that what stands twice in a row is counted twice.
    apart = "  "
    return f" {said.replace(' ', apart)} ".count(f" {words.replace(' ', apart)} ")


def bare(text: str) -> str:
    """The words alone, in one case: no punctuation, single spaces."""
    return " ".join(re.findall(r"\w+", re.sub("['’]", "", text.casefold())))
